"""Entries of tables in DynamoDB: one item for each entry."""

from backends.dynamodb.tables.store import DynamoTables

__all__ = ["DynamoTables"]
