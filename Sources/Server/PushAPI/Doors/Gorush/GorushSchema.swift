import PushWire

/// The schema of a request, for the documentation. It has all keys; which of them a platform has, the door decides.
enum GorushSchema {
    static var request: JSONValue {
        let keys = GorushKey.allCases.map { ($0.rawValue, schema(of: $0)) }
        let notification: JSONValue = [
            "type": "object", "required": ["platform"], "additionalProperties": false,
            "properties": .object(Dictionary(keys, uniquingKeysWith: { first, _ in first })),
        ]
        return [
            "type": "object", "required": ["notifications"], "additionalProperties": false,
            "properties": [
                "notifications": [
                    "type": "array", "minItems": 1, "maxItems": .integer(Int64(GorushRequest.maxNotifications)),
                    "items": notification,
                ]
            ],
        ]
    }

    private static func schema(of key: GorushKey) -> JSONValue {
        if key == .platform { return ["type": "integer", "enum": [1, 2], "description": "1 is iOS, 2 is Android."] }
        return switch key.form {
        case .text: ["type": "string"]
        case .texts: ["type": "array", "items": ["type": "string"]]
        case .whole: ["type": "integer"]
        case .number: ["type": "number"]
        case .flag: ["type": "boolean"]
        case .object: ["type": "object"]
        case .any: [:]
        }
    }
}
