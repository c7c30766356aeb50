package import PushModel
import PushWire

extension Form {
    /// A name by the rules of app ids.
    static func name(example: Value, parse: @escaping @Sendable (String) -> Value?) -> Form {
        .parsed(
            schema: ["type": "string", "pattern": TextPattern.name], example: example,
            rule: "has 1 to 64 letters, digits, '.', '_' and '-'", parse: parse)
    }
}

extension Form where Value == AppID {
    package static var app: Form<AppID> { .name(example: AppID("shop")!) { AppID($0) } }
}

extension Form where Value == NodeID {
    package static var node: Form<NodeID> { .name(example: NodeID("a")!) { NodeID($0) } }
}

extension Form where Value == DeviceID {
    package static var device: Form<DeviceID> {
        let length = DeviceID.textLength
        return .parsed(
            schema: ["type": "string", "pattern": .string("^[0-9a-f]{\(length)}$")],
            example: DeviceID(String(repeating: "0", count: length))!,
            rule: "has \(length) lower-case hexadecimal digits"
        ) { DeviceID($0) }
    }
}

extension Form where Value == MessageID {
    package static var message: Form<MessageID> {
        .parsed(
            schema: [
                "type": "string", "minLength": 1, "maxLength": 128, "pattern": TextPattern.withoutControls,
            ], example: MessageID("order-4711")!,
            rule: "has 1 to 128 bytes without control characters"
        ) { MessageID($0) }
    }
}

extension Form where Value == DeliveryID {
    package static var deliveryID: Form<DeliveryID> {
        .parsed(
            schema: ["type": "string", "format": "uuid"], example: DeliveryID("6851d77c-dfe0-5021-a5a1-7e79436331fb")!,
            rule: "is a UUID"
        ) { DeliveryID($0) }
    }
}

extension Form where Value == AddressText {
    /// An address, in any of the forms in which apps send those of their push service.
    package static var address: Form<AddressText> {
        @Sendable func read(_ text: String, isObject: Bool, _ faults: inout InputFaults) -> AddressText? {
            if let address = AddressText(text, isObject: isObject) { return address }
            faults.add(.badValue, detail: "the value is invalid: it has 1 to \(AddressText.maxLength) bytes")
            return nil
        }
        return Form(
            schema: [
                "type": ["string", "object"], "minLength": 1, "maxLength": .integer(Int64(AddressText.maxLength)),
                "description": """
                The token of an app at APNs: hexadecimal digits in either case, with or without spaces and angle \
                brackets, or base64 or base64url. A text of hexadecimal digits only is never read as base64. Of an app \
                for browsers: the subscription, as an object or as its text.
                """,
            ], example: AddressText("00")!, text: { read($0, isObject: false, &$1) }
        ) { document, position, faults in
            if document.kind(position) == .object {
                return read(String(decoding: document.text(position), as: UTF8.self), isObject: true, &faults)
            }
            guard let text = document.text(position, or: &faults) else { return nil }
            return read(text, isObject: false, &faults)
        }
    }
}

extension Form where Value == APIKeyName {
    package static var keyName: Form<APIKeyName> { .name(example: APIKeyName("orders")!) { APIKeyName($0) } }
}

extension Form where Value == APIKeyID {
    package static var keyID: Form<APIKeyID> {
        .parsed(
            schema: ["type": "string", "pattern": .string("^[a-z0-9]{\(APIKeyID.length)}$")],
            example: APIKeyID("k7f3qk2m")!, rule: "is the id of a key"
        ) { APIKeyID($0) }
    }
}

extension Form where Value == AddressRange {
    /// A range of IP addresses, such as `10.0.0.0/8`.
    package static var addresses: Form<AddressRange> {
        @Sendable func read(_ text: String, _ faults: inout InputFaults) -> AddressRange? {
            do {
                return try AddressRange(text)
            } catch {
                faults.add(.badValue, detail: "\(error)")
                return nil
            }
        }
        return Form(
            schema: ["type": "string", "pattern": "^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$"],
            example: AddressRange.loopback, text: read
        ) {
            document, position, faults in
            guard let text = document.text(position, or: &faults) else { return nil }
            return read(text, &faults)
        }
    }
}
