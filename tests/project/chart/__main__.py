"""Writes the schema of `config` and the table of values."""

from tests.project.chart import table, values_schema

if __name__ == "__main__":
    values_schema.FILE.write_text(values_schema.current())
    table.FILE.write_text(table.current())
