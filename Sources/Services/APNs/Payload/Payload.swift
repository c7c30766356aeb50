package import PushWire

/// A notification's JSON, built from the keys that Apple documents (Documentation/Protocols.md, "A11. The payload").
///
/// Equal payloads give equal bytes. ``PayloadRules`` checks which keys the push type allows together. This type does
/// not check, since it would otherwise reject payloads that future devices accept.
package struct Payload: Sendable, Equatable {
    package var aps: Aps?
    /// `mdm`: the PushMagic of the device. No other keys are sent with it.
    package var pushMagic: String?
    package var fileProvider: FileProviderSignal?
    package var custom: CustomKeys

    package init(
        aps: Aps? = nil, pushMagic: String? = nil, fileProvider: FileProviderSignal? = nil,
        custom: CustomKeys = CustomKeys()
    ) {
        self.aps = aps
        self.pushMagic = pushMagic
        self.fileProvider = fileProvider
        self.custom = custom
    }

    /// Returns compact UTF-8: `aps` first, its keys in the order of their declaration, then the custom keys in the
    /// order of their bytes.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let aps {
                writer.key(plain: "aps")
                aps.write(to: &writer)
            }
            writer.member("mdm", value: pushMagic)
            writer.member("container-identifier", value: fileProvider?.container)
            writer.member("domain", value: fileProvider?.domain)
            writer.members(custom.members)
        }
        return writer.bytes
    }
}

/// The container that changed, for a file provider.
package struct FileProviderSignal: Sendable, Equatable {
    package var container: String
    package var domain: String?

    package init(container: String, domain: String? = nil) {
        self.container = container
        self.domain = domain
    }
}

/// The app's own keys, which are beside `aps`.
package struct CustomKeys: Sendable, Equatable {
    /// The keys that ``Payload`` writes itself.
    package static let reserved: Set<String> = ["aps", "mdm", "container-identifier", "domain"]

    package let members: [String: JSONValue]

    package init() {
        members = [:]
    }

    /// Creates the keys; nil if one of the names is reserved, since the payload would contain it twice.
    package init?(_ members: [String: JSONValue]) {
        guard members.keys.allSatisfy({ !Self.reserved.contains($0) }) else { return nil }
        self.members = members
    }
}
