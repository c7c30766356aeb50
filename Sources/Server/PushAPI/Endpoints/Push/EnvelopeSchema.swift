import PushConfiguration
import PushModel
import PushWire

/// The JSON schema of a message, for the documentation. Intake decides; this describes the same rules as far as a schema
/// can.
enum EnvelopeSchema {
    /// The bodies of a request with messages.
    static var contents: [Operation.Content] {
        [
            .init(Operation.Body.jsonType, schema: envelope, named: name, example: example),
            .init(Operation.Body.linesType, schema: envelope, named: name, isLines: true, example: .string(lines)),
        ]
    }

    private static var lines: String {
        let second: JSONValue = ["id": "order-4712", "app": "shop", "to": ["tags": "beta"], "badge": 1]
        return [example, second].map { String(decoding: $0.bytes, as: UTF8.self) + "\n" }.joined()
    }

    private static let name = "Message"

    static var example: JSONValue {
        ["id": "order-4711", "app": "shop", "to": ["users": ["ada"]], "alert": "On its way"]
    }

    static var envelope: JSONValue {
        [
            "type": "object", "required": ["id", "app", "to"], "additionalProperties": false,
            "properties": .object(options.merging(content) { first, _ in first }),
            // Generators take anyOf beside properties for a union of types, and leave conditions alone.
            "if": ["required": ["payload"]], "then": ["not": ["anyOf": plainContent]],
            "else": ["anyOf": plainContent],
        ]
    }

    /// That one of the members that make a payload is there.
    private static let plainContent = JSONValue.array(
        (PlainField.allCases.map(\.rawValue) + ["live_activity", "payloads"]).map { ["required": [.string($0)]] })

    static let app: JSONValue = [
        "type": "string", "pattern": TextPattern.name, "description": "The app, or a family of apps.",
    ]

    static var pushTypes: [JSONValue] { PushServices.messageTypes.map { .string($0.word) } }

    private static var options: [String: JSONValue] {
        [
            "id": text(128, about: "The name of the message in its app. The same id again is a duplicate."),
            "app": app,
            "to": audience,
            "push_type": [
                "type": "string", "enum": .array(pushTypes), "default": "alert",
            ],
            "priority": [
                "type": "integer", "enum": [1, 5, 10],
                "description": "10 at once, 5 when power allows, 1 never wakes the device.",
            ],
            "expires_at": seconds(about: "No attempt begins later; 0 for one attempt now."),
            "not_before": seconds(about: "Nothing is sent earlier; at most 366 days ahead."),
            "at_local": [
                "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?$",
                "description": "The local time of each device at which it is sent, without an offset.",
            ],
            "time_zone": text(64, about: "With at_local: the time zone of devices without one."),
            "late": [
                "type": "string", "enum": ["send", "drop"], "default": "send",
                "description": "With at_local: what happens where the time has passed.",
            ],
            "collapse_id": text(64, about: "A notification replaces an earlier one with this id on the device."),
            "on_unknown": [
                "type": "string", "enum": ["resend", "drop"], "default": "resend",
                "description": "The treatment of deliveries that the push service never answers.",
            ],
            "again": [
                "type": "boolean", "default": false,
                "description": "Looks up users, tags or all once more for a known id, for devices that joined.",
            ],
            "prefer": prefer,
            "traceparent": text(128, about: "W3C trace context; repeated in events."),
        ]
    }

    static var prefer: JSONValue {
        [
            "type": "array", "minItems": 1, "maxItems": .integer(Int64(Family.maxMembers)), "items": app,
            "description": "Of a family: each user gets it in the first of these apps that reaches them.",
        ]
    }

    private static var content: [String: JSONValue] {
        [
            "payload": ["type": "object", "description": "The payload, forwarded byte for byte; or use the others."],
            "alert": [
                "type": ["string", "object"],
                "description": "The text, or its title, subtitle and body, or locales with words, and default.",
            ],
            "badge": ["type": "integer", "minimum": 0, "description": "The number on the icon; 0 removes it."],
            "sound": [
                "type": ["string", "object"], "description": "The name of a sound, or an object as Apple has it.",
            ],
            "custom": ["type": "object", "description": "The app's own data."],
            "image": plain(about: "The address of an image."),
            "link": plain(about: "What the notification opens."),
            "category": plain(about: "The category, which decides the buttons."),
            "thread": plain(about: "The group in which the device shows the notification."),
            "values": [
                "type": "object",
                "additionalProperties": ["type": "object", "additionalProperties": ["type": "string"]],
                "description": "For each of to.users, the values of the names in braces in the texts of alert.",
            ],
            "live_activity": liveActivity,
            "payloads": [
                "type": "object", "additionalProperties": ["type": "object"],
                "description": "Of a family: payloads by push service, such as apns, instead of the other members.",
            ],
        ]
    }

    private static var liveActivity: JSONValue {
        [
            "type": "object", "required": ["event", "content_state"], "additionalProperties": false,
            "description": "The start, an update or the end of a Live Activity.",
            "properties": [
                "event": ["type": "string", "enum": .array(ActivityPart.Event.allCases.map { .string("\($0)") })],
                "type": text(128, about: "Of a start: the name of the type of its attributes."),
                "attributes": ["type": "object", "description": "Of a start: the values that never change."],
                "content_state": ["type": "object", "description": "What the activity shows."],
                "alert": ["type": "object", "description": "Texts title, body and sound; a start needs them."],
                "stale_at": seconds(about: "From then on the content is old."),
                "relevance": ["type": "number", "description": "The place among the activities of the app."],
                "input_push": [
                    "type": ["string", "object"],
                    "description": "Of a start: \"token\", or the channel for updates, {\"channel\": …}.",
                ],
                "dismiss_at": seconds(about: "Of an end: the device removes the activity then."),
            ],
        ]
    }

    /// The schema of `to`.
    static var audience: JSONValue {
        [
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
            "description": "The devices: one of these members.",
            "properties": [
                "tokens": names(["type": "string", "pattern": "^([0-9A-Fa-f]{2})+$"]),
                "devices": names(["type": "string", "pattern": "^[0-9a-f]{32}$"]),
                "users": names([
                    "type": "string", "minLength": 1, "maxLength": 255, "pattern": TextPattern.withoutControls,
                ]),
                "tags": [
                    "type": ["string", "object"], "minLength": 1, "pattern": TextPattern.withoutControls,
                    "minProperties": 1, "maxProperties": 1,
                    "description": "A tag, or {\"all\": […]}, {\"any\": […]} or {\"not\": …} of tags, nested.",
                ],
                "all": ["type": "boolean", "enum": [true], "description": "Every active device of the app."],
                "activities": [
                    "type": "array", "minItems": 1, "maxItems": .integer(Int64(Audience.maxActivities)),
                    "items": [
                        "type": "string", "minLength": 1,
                        "maxLength": .integer(Int64(ActivityPart.maxNameLength)),
                        "pattern": TextPattern.withoutControls,
                    ],
                    "description": "Live Activities by their names.",
                ],
            ],
        ]
    }

    private static func names(_ name: JSONValue) -> JSONValue {
        ["type": "array", "items": name, "minItems": 1, "maxItems": .integer(Int64(Audience.maxNames))]
    }

    private static func text(_ length: Int64, about: String) -> JSONValue {
        [
            "type": "string", "minLength": 1, "maxLength": .integer(length), "pattern": TextPattern.withoutControls,
            "description": .string(about),
        ]
    }

    private static func plain(about: String) -> JSONValue {
        [
            "type": "string", "minLength": 1, "pattern": TextPattern.withoutControls,
            "description": .string(about),
        ]
    }

    private static func seconds(about: String) -> JSONValue {
        [
            "type": "integer", "minimum": 0, "maximum": .integer(Int64(UInt32.max)),
            "description": .string("Seconds since 1970. \(about)"),
        ]
    }
}
