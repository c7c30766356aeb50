package import JSON5
import PushLoop
import PushText
import PushTransport

extension Configuration {
    /// The result of parsing: the configuration, its warnings, and all known keys.
    package struct Parsed: Sendable {
        package let configuration: Configuration
        package let warnings: [ConfigurationFault]
        /// The paths of all settings, with `*` for the names of apps and clients.
        package let knownKeys: [String]
    }

    /// Parses a whole configuration.
    ///
    /// - Parameters:
    ///   - file: the path of the file, for messages, and because paths in the file are relative to it.
    ///   - environment: the variables of the process; ``ConfigurationReader`` describes how they map to settings.
    ///   - flags: the settings from the command line by path, such as `["data": "/var/lib/carillon"]`.
    /// - Throws: an error with all faults.
    package static func parse(
        _ text: [UInt8], file: String, environment: [String: String] = [:], flags: [String: String] = [:]
    ) throws(ConfigurationError) -> Parsed {
        let reader = ConfigurationReader(file: file, environment: environment, flags: flags)
        let root = reader.root(try tree(text, file: file))
        var configuration = Configuration()
        configuration.data = root.path("data") ?? FilePlace.resolve(configuration.data, besideFile: file)
        configuration.readSockets(root)
        configuration.readHTTP(root.section("http"))
        configuration.refuseSharedPlaces(root)
        let dedupe = root.section("dedupe")
        configuration.dedupe.window =
            dedupe.duration("window", in: .seconds(60)...days(366)) ?? configuration.dedupe.window
        configuration.dedupe.limit =
            dedupe.integer("limit", in: 1000...2_000_000_000) ?? configuration.dedupe.limit
        configuration.readLog(root.section("log"))
        configuration.readApps(root)
        configuration.readSecurity(root)
        reader.finish()
        guard reader.faults.isEmpty else { throw ConfigurationError(faults: reader.faults) }
        return Parsed(configuration: configuration, warnings: reader.warnings, knownKeys: reader.knownKeys)
    }

    package static func tree(_ text: [UInt8], file: String) throws(ConfigurationError) -> JSONTree {
        do {
            return try JSON5Reader.read(text)
        } catch {
            let place = SettingPlace.file(file, JSONTree.Place(line: error.line, column: error.column))
            throw ConfigurationError(faults: [
                ConfigurationFault(place: place, path: "", problem: "this is not JSON5: \(error.problem)")
            ])
        }
    }

    package static func days(_ number: Int64) -> Duration { .seconds(number * 86_400) }

    // MARK: Sections

    private mutating func readSockets(_ root: ConfigurationSection) {
        let (intake, events) = (root.section("intake"), root.section("events"))
        self.intake.router = intake.bind("router") ?? self.intake.router
        self.intake.pull = intake.bind("pull") ?? self.intake.pull
        self.intake.expireAfter =
            intake.duration("expire_after", in: .seconds(60)...Self.days(366)) ?? self.intake.expireAfter
        self.events.publish = events.bind("publish") ?? self.events.publish
        self.events.replay = events.bind("replay") ?? self.events.replay
        let retention = events.section("retention")
        let size = retention.byteCount("size", in: ByteCount(1 << 20)...ByteCount(1 << 50))
        self.events.retention.size = size ?? self.events.retention.size
        let age = retention.duration("age", in: .seconds(60)...Self.days(3660))
        self.events.retention.age = age ?? self.events.retention.age
    }

    private func refuseSharedPlaces(_ root: ConfigurationSection) {
        let (intake, events, http) = (root.section("intake"), root.section("events"), root.section("http"))
        let binds: [(section: ConfigurationSection, key: String, bind: Bind)] = [
            (intake, "router", self.intake.router), (intake, "pull", self.intake.pull),
            (events, "publish", self.events.publish), (events, "replay", self.events.replay),
            (http, "listen", self.http.listen.map { .tcp($0) } ?? .off),
        ]
        for (index, this) in binds.enumerated() {
            guard let other = binds[..<index].first(where: { $0.bind.excludes(this.bind) }) else { continue }
            // The fault is reported for a setting that the user wrote, not for a default.
            let (wrong, right) = this.section.has(this.key) ? (this, other) : (other, this)
            let place = right.section.dotted(right.key)
            wrong.section.fault(
                wrong.key,
                wrong.bind == right.bind
                    ? "\(wrong.bind) is also the endpoint of \(place); each needs its own"
                    : "\(wrong.bind) conflicts with the endpoint of \(place), \(right.bind); change one of them")
        }
    }

    private mutating func readHTTP(_ section: ConfigurationSection) {
        if let text = section.text("listen") {
            if text == "off" {
                http.listen = nil
            } else if let place = HostPort(text),
                place.host == "localhost" || SocketAddress(ip: place.host, port: 0) != nil
            {
                http.listen = place
            } else {
                section.fault(
                    "listen", "\"\(text)\" is not an IP address with a port; write \"127.0.0.1:8470\" or \"off\"")
            }
        }
        let tls = section.section("tls")
        let (certificate, key, password) = (tls.path("certificate"), tls.path("key"), tls.path("password_file"))
        if let certificate {
            http.tls = HTTP.TLS(certificate: certificate, key: key, passwordFile: password)
        } else if tls.isGiven, !tls.has("certificate") {
            tls.fault(
                nil, "certificate is missing, such as \"server.pem\"; its key may be in the same file, or in key")
        }
        if let listen = http.listen, http.tls == nil, !tls.isGiven, !Bind.tcp(listen).isLocal,
            listen.host != "localhost"
        {
            section.warn("listen", "other machines can reach \(listen); without http.tls nothing is encrypted")
        }
    }

    private mutating func readLog(_ section: ConfigurationSection) {
        if let name = section.choice("level", among: LogLevel.allCases.map(\.name)), let level = LogLevel(name: name) {
            log.level = level
        }
        log.format = section.choice("format", of: Log.Format.self) ?? log.format
    }
}
