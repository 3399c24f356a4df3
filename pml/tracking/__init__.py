"""What is kept of training: the package of a model, MLflow's runs and registry, studies."""

import os

# Here, as this runs before any module that imports MLflow, whose import starts to report to its
# makers otherwise; and a bar for each file that is read back tells nobody anything.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
# A server that does not answer is given up after seconds; MLflow asks it for four minutes.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
