package import PushWire

/// A notification's JSON, as the command line builds it (Documentation/Protocols.md, "A11. The payload").
///
/// Equal payloads give equal bytes. ``PayloadRules`` checks which keys the push type allows together. This type does
/// not check, since it would otherwise reject payloads that future devices accept.
package struct Payload: Sendable, Equatable {
    package var aps: Aps
    package var custom: CustomKeys

    package init(aps: Aps, custom: CustomKeys = CustomKeys()) {
        self.aps = aps
        self.custom = custom
    }

    /// Returns compact UTF-8: `aps` first, its keys in the order of their declaration, then the custom keys in the
    /// order of their bytes.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(plain: "aps")
            aps.write(to: &writer)
            writer.members(custom.members)
        }
        return writer.bytes
    }
}

/// The app's own keys, which are beside `aps`.
package struct CustomKeys: Sendable, Equatable {
    /// The keys that are not the app's own.
    package static let reserved: Set<String> = ["aps", "mdm", "container-identifier", "domain"]

    package let members: [String: JSONValue]

    package init() {
        members = [:]
    }

    /// Creates the keys; nil if one of the names is reserved.
    package init?(_ members: [String: JSONValue]) {
        guard members.keys.allSatisfy({ !Self.reserved.contains($0) }) else { return nil }
        self.members = members
    }
}
