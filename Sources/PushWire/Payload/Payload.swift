/// A notification's JSON, put together from the keys that Apple documents (PROTOCOLS A11).
///
/// Equal payloads give equal bytes. What is allowed together depends on the push type and is said by `PayloadRules`,
/// not here: a builder that refused what tomorrow's devices take would be in the way.
package struct Payload: Sendable, Equatable {
    package var aps: Aps?
    /// `mdm`: the PushMagic of the device. Stands alone.
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

    /// Compact UTF-8: `aps` first, its keys in the order of their declaration, then the custom ones in that of their
    /// bytes.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let aps {
                writer.key("aps")
                aps.write(to: &writer)
            }
            writer.member("mdm", pushMagic)
            writer.member("container-identifier", fileProvider?.container)
            writer.member("domain", fileProvider?.domain)
            writer.members(custom.members)
        }
        return writer.bytes
    }
}

/// What changed, for a file provider.
package struct FileProviderSignal: Sendable, Equatable {
    package var container: String
    package var domain: String?

    package init(container: String, domain: String? = nil) {
        self.container = container
        self.domain = domain
    }
}

/// The app's own keys, which stand beside `aps`.
package struct CustomKeys: Sendable, Equatable {
    /// The keys that a payload writes itself.
    package static let reserved: Set<String> = ["aps", "mdm", "container-identifier", "domain"]

    package let members: [String: JSONValue]

    package init() {
        members = [:]
    }

    /// Nil when one of the names is reserved: the payload would have it twice.
    package init?(_ members: [String: JSONValue]) {
        guard members.keys.allSatisfy({ !Self.reserved.contains($0) }) else { return nil }
        self.members = members
    }
}
