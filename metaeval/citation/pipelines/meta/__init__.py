"""UnitValues of citation pipelines against people's ratings."""
