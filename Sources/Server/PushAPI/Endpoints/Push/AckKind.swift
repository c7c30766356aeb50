import PushModel
package import PushWire

/// The ack of a message.
package enum AckKind: WrittenKind {
    package static var mediaType: String { "application/json; charset=utf-8" }

    package static var schemaName: String? { "Ack" }

    package static var schema: JSONValue {
        [
            "type": "object", "required": ["id", "status"],
            "properties": [
                "id": ["type": ["string", "null"], "description": "The message id; null if it could not be read."],
                "status": ["type": "string", "enum": ["accepted", "duplicate", "rejected", "busy"]],
                "seq": ["type": "integer", "description": "The number of the message in the event log."],
                "part": ["type": "integer", "description": "The part of the log in a cluster; left out if it is 0."],
                "apps": [
                    "type": "object",
                    "additionalProperties": ["type": "string", "enum": ["accepted", "duplicate"]],
                    "description": "For a family: the status of each member.",
                ],
                "reason": [
                    "type": "string", "enum": .array(RejectionReason.allCases.map { .string($0.rawValue) }),
                    "description": "The reason of a rejection.",
                ],
                "detail": ["type": "string", "description": "The reason of a rejection, for people."],
                "retry_after_ms": ["type": "integer", "description": "The time to wait before the next attempt."],
                "findings": [
                    "type": "array",
                    "items": [
                        "type": "object", "required": ["code", "path", "detail"],
                        "properties": [
                            "code": ["type": "string"], "path": ["type": "string"], "detail": ["type": "string"],
                            "app": ["type": "string", "description": "For a family: the member."],
                        ],
                    ],
                    "description": "Parts of an accepted payload that the push service may ignore or reject.",
                ],
            ],
        ]
    }
}

/// The acks of a body with lines: one for each line, in order.
package enum AckLinesKind: WrittenLines {
    package static func lineSchema(in book: inout NamedSchemas) -> JSONValue? { AckKind.schema(in: &book) }
}
