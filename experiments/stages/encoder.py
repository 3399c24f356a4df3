"""Stage `encoder`: the shipped encoder, or one trained on the data set's own texts."""

from pml.workspace.encoding import EncoderParameters, write_encoder
from pml.workspace.importing import imported_from
from pml.workspace.layout import PARAMETERS, Layout
from pml.workspace.parameters import read_parameters


def main() -> None:
    """Run the stage."""
    layout, parameters = Layout(), read_parameters(PARAMETERS)
    encoder = write_encoder(
        imported_from(layout.imported).loaded.dataset,
        parameters,
        layout.encoder,
        on_epoch=lambda epoch, loss: print(f"epoch {epoch}: loss {loss:.3f}"),
    )
    source = parameters.section("encoder", EncoderParameters).source
    print(f"{source} encoder {encoder.name}")


if __name__ == "__main__":
    main()
