"""Messages declared by hand as tables -> protobuf classes, without generated code, so that any protobuf release will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, tuple[tuple[str, int, str], ...]]
"""From a message to its fields: name, number, and a scalar type or a message of the schema, which `repeated` or `oneof` may
follow. Fields that are not declared are skipped."""


class Messages:
    """The classes of one schema; made when first asked for."""

    def __init__(self, package: str, schema: Schema) -> None:
        """Declare the messages of `schema` in `package`, a name that no other schema has."""
        self._package = package
        self._schema = schema
        self._pool: Any = None
        self._classes: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The protobuf class of one message."""
        if name not in self._classes:
            self._classes[name] = self._class(name)
        return self._classes[name]

    def _class(self, name: str) -> Any:
        from google.protobuf import message_factory

        if self._pool is None:
            self._pool = self._declared()
        descriptor = self._pool.FindMessageTypeByName(f"{self._package}.{name}")
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(self._pool).GetPrototype(descriptor)  # protobuf before 4.22

    def _declared(self) -> Any:
        from google.protobuf import descriptor_pb2, descriptor_pool

        file = descriptor_pb2.FileDescriptorProto(
            name=f"{self._package.replace('.', '_')}.proto", package=self._package, syntax="proto3"
        )
        for name, fields in self._schema.items():
            message = file.message_type.add(name=name)
            for field, number, kind in fields:
                self._add_field(message, field, number, kind)
        pool = descriptor_pool.DescriptorPool()
        pool.AddSerializedFile(file.SerializeToString())
        return pool

    def _add_field(self, message: Any, name: str, number: int, kind: str) -> None:
        type_name, _, modifier = kind.partition(" ")
        field = message.field.add(name=name, number=number)
        field.label = field.LABEL_REPEATED if modifier == "repeated" else field.LABEL_OPTIONAL
        if type_name in self._schema:
            field.type, field.type_name = field.TYPE_MESSAGE, f".{self._package}.{type_name}"
        else:
            field.type = getattr(field, f"TYPE_{type_name.upper()}")
        if modifier == "oneof":
            if not message.oneof_decl:
                message.oneof_decl.add(name="value")
            field.oneof_index = 0
