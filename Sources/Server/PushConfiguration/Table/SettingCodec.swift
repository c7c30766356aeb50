import APNs
import PushLoop
import PushModel
import PushText
import PushTransport
import PushWire

/// The form of a setting: how its values are read and checked, and how they are written.
struct SettingCodec<Value>: Sendable {
    /// Returns the value of a key of a section, or nil if it is absent or wrong. A wrong value is reported.
    let read: @Sendable (String, ConfigurationSection) -> Value?
    /// Returns the text for log lines and reports; nil if there is no value.
    let text: @Sendable (Value) -> String?
    /// Returns the value in JSON5; nil if there is no value.
    let literal: @Sendable (Value) -> String?
    /// The least and the greatest value as text, for amounts.
    var bounds: String?

    /// Creates the form of values that are text in JSON5, in quotes.
    init(
        read: @escaping @Sendable (String, ConfigurationSection) -> Value?,
        text: @escaping @Sendable (Value) -> String
    ) {
        self.init(read: read, text: text) { Self.quoted(text($0)) }
    }

    init(
        read: @escaping @Sendable (String, ConfigurationSection) -> Value?,
        text: @escaping @Sendable (Value) -> String?,
        literal: @escaping @Sendable (Value) -> String?
    ) {
        self.read = read
        self.text = text
        self.literal = literal
    }

    /// The form of values that may be absent.
    var optional: SettingCodec<Value?> {
        let (read, text, literal) = (read, text, literal)
        var codec = SettingCodec<Value?>(
            read: { key, section in read(key, section).map { .some($0) } }, text: { $0.flatMap { text($0) } },
            literal: { $0.flatMap { literal($0) } })
        codec.bounds = bounds
        return codec
    }

    fileprivate func bounded(by range: ClosedRange<Value>, text: (Value) -> String) -> Self where Value: Comparable {
        var codec = self
        codec.bounds = "\(text(range.lowerBound)) to \(text(range.upperBound))"
        return codec
    }

    fileprivate static func quoted(_ text: String) -> String {
        String(decoding: JSONValue.string(text).bytes, as: UTF8.self)
    }
}

// MARK: Amounts

extension SettingCodec<Int> {
    static func integer(in range: ClosedRange<Int>) -> Self {
        Self(read: { $1.integer($0, in: range) }, text: { "\($0)" }, literal: { "\($0)" })
            .bounded(by: range) { "\($0)" }
    }
}

extension SettingCodec<UInt16> {
    static var port: Self { Self(read: { $1.port($0) }, text: { "\($0)" }, literal: { "\($0)" }) }
}

extension SettingCodec<Bool> {
    static var boolean: Self { Self(read: { $1.boolean($0) }, text: { "\($0)" }, literal: { "\($0)" }) }
}

extension SettingCodec<Duration> {
    static func duration(in range: ClosedRange<Duration>) -> Self {
        Self(read: { $1.duration($0, in: range) }, text: { DurationText.write($0) })
            .bounded(by: range) { DurationText.write($0) }
    }
}

extension SettingCodec<ByteCount> {
    static func byteCount(in range: ClosedRange<ByteCount>) -> Self {
        Self(read: { $1.byteCount($0, in: range) }, text: { "\($0)" }).bounded(by: range) { "\($0)" }
    }
}

extension Duration {
    static func days(_ number: Int64) -> Duration { .seconds(number * 86_400) }
}

// MARK: Words

extension SettingCodec where Value: RawRepresentable & CaseIterable & SendableMetatype, Value.RawValue == String {
    static var choice: Self { Self(read: { $1.choice($0, of: Value.self) }, text: { $0.rawValue }) }
}

extension SettingCodec<LogLevel> {
    static var logLevel: Self {
        Self(
            read: { key, section in
                section.choice(key, among: LogLevel.allCases.map(\.name)).flatMap { LogLevel(name: $0) }
            },
            text: { $0.name })
    }
}

extension SettingCodec<String> {
    static var text: Self { Self(read: { $1.text($0) }, text: { $0 }) }

    /// A path. In the file it is relative to the file's directory.
    static var path: Self { Self(read: { $1.path($0) }, text: { $0 }) }

    static var host: Self {
        Self(
            read: { key, section in
                guard let host = section.text(key) else { return nil }
                guard Configuration.Endpoint.isHost(host) else {
                    section.report(
                        "\"\(host)\" is not a host: a name or an IP address, without scheme and port", at: key)
                    return nil
                }
                return host
            },
            text: { $0 })
    }
}

extension SettingCodec<[String]> {
    static var texts: Self {
        Self(
            read: { $1.texts($0) }, text: { $0.joined(separator: ",") },
            literal: { "[\($0.map(quoted).joined(separator: ", "))]" })
    }
}

// MARK: Addresses

extension SettingCodec<Bind> {
    static var bind: Self { Self(read: { $1.bind($0) }, text: { "\($0)" }) }
}

extension SettingCodec<HostPort> {
    /// A name or an address with a port.
    static var hostPort: Self { Self(read: { $1.hostPort($0) }, text: { "\($0)" }) }
}

extension SettingCodec<HostPort?> {
    /// An IP address with a port, or `off`.
    static var listen: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                if text == "off" { return .some(nil) }
                guard let endpoint = HostPort(text),
                    endpoint.host == "localhost" || SocketAddress(ip: endpoint.host, port: 0) != nil
                else {
                    section.report(
                        "\"\(text)\" is not an IP address with a port; write \"127.0.0.1:8470\" or \"off\"", at: key)
                    return nil
                }
                return endpoint
            },
            text: { $0.map { "\($0)" } ?? "off" })
    }
}

extension SettingCodec<String> {
    /// The address of a service over TLS.
    static var serviceURL: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                guard let url = HTTP1Address(text), url.isSecure else {
                    section.report(
                        "\"\(text)\" is not the address of a service; write \"https://example.com/path\"", at: key)
                    return nil
                }
                return text
            },
            text: { $0 })
    }
}

extension SettingCodec<[Configuration.ReceiptRules.Environment]> {
    static var receiptEnvironments: Self {
        typealias Environment = Configuration.ReceiptRules.Environment
        return Self(
            read: { key, section in
                guard let words = section.texts(key) else { return nil }
                let environments = words.compactMap { Environment(rawValue: $0) }
                for (index, word) in words.enumerated() where Environment(rawValue: word) == nil {
                    section.report(
                        "\"\(word)\" is not one of production, sandbox", at: key, element: index)
                }
                guard !words.isEmpty else {
                    section.report("name at least one of production, sandbox", at: key)
                    return nil
                }
                return environments.count == words.count ? environments : nil
            },
            text: { $0.map(\.rawValue).joined(separator: ",") },
            literal: { "[\($0.map { SettingCodec<[String]>.quoted($0.rawValue) }.joined(separator: ", "))]" })
    }
}

extension SettingCodec<Configuration.Endpoint.Trust> {
    /// The word `system`, or the path of a PEM file.
    static var trust: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                return text == "system" ? .system : section.path(key).map { .file($0) }
            },
            text: { "\($0)" })
    }
}

// MARK: Identities

extension SettingCodec<BundleID> {
    static var bundleID: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                guard let id = BundleID(text) else {
                    section.report(
                        "\"\(text)\" is not a bundle id: up to 155 letters, digits, '.', '-' and '_'", at: key)
                    return nil
                }
                if text.contains(".push-type.") {
                    section.warn("write the bundle id alone; the push type of a message adds the suffix", at: key)
                }
                return id
            },
            text: { $0.text })
    }
}

extension SettingCodec<CurvePublicKey> {
    static var publicKey: Self {
        Self(
            read: { key, section in
                guard let text = section.text(key) else { return nil }
                guard let publicKey = try? CurvePublicKey(z85: text) else {
                    section.report(
                        "this is not a public key: 40 characters of Z85, from `carillon keys curve`", at: key)
                    return nil
                }
                return publicKey
            },
            text: { $0.z85 })
    }
}
