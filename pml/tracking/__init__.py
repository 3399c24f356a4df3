"""What is kept of training: the package of a model, MLflow's runs and registry, studies."""
