import PushModel
package import PushWire

/// The ack of a message.
package enum AckKind: WrittenKind {
    package static var mediaType: String { "application/json; charset=utf-8" }

    package static var schema: JSONValue {
        [
            "type": "object", "required": ["status"],
            "properties": [
                "id": ["type": ["string", "null"], "description": "The message id; null if it could not be read."],
                "status": ["type": "string", "enum": ["accepted", "duplicate", "rejected", "busy"]],
                "seq": ["type": "integer", "description": "The number of the message in the event log."],
                "reason": [
                    "type": "string", "enum": .array(RejectionReason.allCases.map { .string($0.rawValue) }),
                    "description": "The reason of a rejection.",
                ],
                "detail": ["type": "string", "description": "The reason of a rejection, for people."],
                "retry_after_ms": ["type": "integer", "description": "The time to wait before the next attempt."],
                "findings": [
                    "type": "array", "items": ["type": "object"],
                    "description": "Parts of an accepted payload that the push service may ignore or reject.",
                ],
            ],
        ]
    }
}
