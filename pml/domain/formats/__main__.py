"""``python -m pml.domain.formats`` writes the schemas again after a record has changed."""

import json
from pathlib import Path

from pml.domain.formats.generate import VERSION, generate

if __name__ == "__main__":
    folder = Path(__file__).with_name(f"v{VERSION}")
    for name, made in generate().items():
        text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        (folder / f"{name}.schema.json").write_text(text, encoding="utf-8")
