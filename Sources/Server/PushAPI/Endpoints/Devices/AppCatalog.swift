import PushLoop
package import PushModel
package import PushWire

/// The apps of the configuration in force, and what their push services make of addresses.
package final class AppCatalog: Sendable {
    package struct App: Sendable {
        package let id: AppID
        package let codec: any ServiceCodec
        /// The environment whose addresses the app has; nil if its push service has only one.
        package let environment: String?
        /// The topic of the app, without the suffix of a type; nil at push services that have none.
        package let topic: String?
        /// The word of its push service in the configuration; empty if it has none.
        package let service: String

        package init(
            id: AppID, codec: any ServiceCodec, service: String = "", environment: String? = nil, topic: String? = nil
        ) {
            self.id = id
            self.codec = codec
            self.service = service
            self.environment = environment
            self.topic = topic
        }
    }

    /// Nil if every app is known.
    private let apps: Locked<[AppID: App]?>
    private let families = Locked<[AppID: Family]>([:])
    private let others: any ServiceCodec
    private let zones: SharedTimeZones
    /// Whether the stores keep messages in a way, and for so long, that one can go out at a local time.
    private let storesLocalTimes: Locked<Bool>

    /// Creates a catalog.
    ///
    /// - Parameters:
    ///   - apps: The apps; nil if every app is known, as where there is no configuration.
    ///   - families: The families of these apps.
    ///   - others: Reads the addresses of apps that are no longer in the configuration, whose devices can still be
    ///     found and removed.
    ///   - storesLocalTimes: Whether the stores keep messages in a way, and for so long, that one can go out at a local
    ///     time.
    package init(
        _ apps: [App]?, families: [Family] = [], others: any ServiceCodec,
        zones: SharedTimeZones = SharedTimeZones(), storesLocalTimes: Bool = true
    ) {
        self.zones = zones
        self.storesLocalTimes = Locked(storesLocalTimes)
        self.apps = Locked(apps.map(Self.byID))
        self.others = others
        set(families)
    }

    /// Replaces the apps by those of a new configuration.
    package func update(_ new: [App], families: [Family] = [], storesLocalTimes: Bool) {
        let new = Self.byID(new)
        apps.withLock { $0 = new }
        self.storesLocalTimes.withLock { $0 = storesLocalTimes }
        set(families)
    }

    /// Whether messages can go out at a local time.
    var takesLocalTimes: Bool { !zones.current.isEmpty && storesLocalTimes.withLock { $0 } }

    private func set(_ new: [Family]) {
        let new = Dictionary(new.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        families.withLock { $0 = new }
    }

    /// Throws `invalid` if there is no time zone of this name. An empty name removes that of a device. Without a time zone
    /// database, every name is taken.
    func check(zone: String?) throws(Problem) {
        guard let zone, !zone.isEmpty else { return }
        let zones = zones.current
        if zones.isEmpty || zones.has(zone) { return }
        throw .invalid(InputFault(.badValue, at: .pointer("/time_zone"), detail: zones.unknown(zone)))
    }

    /// Returns the family with this name; nil if it is not the name of one. Throws `forbidden` unless the caller has a
    /// right for all its members, or else for the app with this name.
    func family(_ name: AppID, for caller: Caller) throws(Problem) -> Family? {
        guard let family = families.withLock({ $0[name] }) else {
            try caller.check(name)
            return nil
        }
        if family.members.allSatisfy({ caller.has($0) }) { return family }
        // Who has a right for none of them does not learn that it is a family.
        if !family.members.contains(where: { caller.has($0) }) { try caller.check(name) }
        throw Problem(.forbidden, detail: "the key \(caller.name) has no right for all apps of \"\(name)\"")
    }

    /// Returns the families to all of whose apps the caller has a right, by name.
    func families(for caller: Caller) -> [Family] {
        families.withLock { $0.values.filter { $0.members.allSatisfy { caller.has($0) } } }
            .sorted { $0.name.name < $1.name.name }
    }

    /// Returns the names of the families that have all these apps.
    func familyNames(with apps: [String]) -> [String] {
        families.withLock { families in
            families.values.filter { Set($0.members.map(\.name)).isSuperset(of: apps) }.map(\.name.name).sorted()
        }
    }

    private static func byID(_ apps: [App]) -> [AppID: App] {
        Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Throws `unknown_app` unless the app is in the configuration. The caller must have a right for the app: one that
    /// is limited to some apps does not get this far with the name of another.
    func check(_ app: AppID) throws(Problem) { _ = try known(app) }

    /// Throws `unknown_app` unless the app is in the configuration, and `invalid` unless it has this environment.
    func check(_ app: AppID, has wanted: String?) throws(Problem) {
        guard let known = try known(app), let wanted, known.environment != wanted else { return }
        let own = known.environment.map { "uses the environment \($0)" } ?? "has no environments"
        throw .invalid(
            InputFault(
                .badValue, at: .pointer("/environment"),
                detail: "the app \"\(app)\" \(own); a token of the environment \(wanted) belongs to another app"))
    }

    /// Returns the app; nil if every app is known. Throws `unknown_app` unless it is in the configuration.
    private func known(_ app: AppID) throws(Problem) -> App? {
        guard let all = apps.withLock({ $0 }) else { return nil }
        guard let known = all[app] else { throw .unknownApp(app.name, among: all.keys.map(\.name)) }
        return known
    }

    /// Returns the app; nil if it is not in the configuration, or if every app is known.
    func app(_ id: AppID) -> App? { apps.withLock { $0?[id] } }

    /// Returns the codec of an app, also of one that is not in the configuration.
    func codec(of app: AppID) -> any ServiceCodec { apps.withLock { $0?[app]?.codec } ?? others }

    /// Reads an address of an app from the member of a body.
    func address(_ text: AddressText, of app: AppID, at member: String) throws(Problem) -> Address {
        do throws(AddressFault) {
            return try text.address(of: codec(of: app))
        } catch {
            throw .invalid(
                InputFault(.badValue, at: .pointer("/\(member)"), detail: "the value is invalid: it \(error.problem)"))
        }
    }

    /// Returns whether the app is known.
    func contains(_ app: AppID) -> Bool { apps.withLock { $0.map { $0[app] != nil } ?? true } }
}
