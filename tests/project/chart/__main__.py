"""Writes the schema of `config`."""

from tests.project.chart import values_schema

if __name__ == "__main__":
    values_schema.FILE.write_text(values_schema.current())
