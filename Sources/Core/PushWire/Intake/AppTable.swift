package import PushModel
package import PushTime

/// The properties of an app that intake needs.
package final class AppFacts: Sendable {
    package let id: AppID
    /// What the app's push service makes of addresses and messages.
    package let codec: any ServiceCodec
    /// The word of the push service in `payloads`; empty if it has none.
    package let service: String
    /// The time zone of addresses without one; nil if the app has none.
    package let timeZone: String?

    package init(id: AppID, codec: any ServiceCodec, service: String = "", timeZone: String? = nil) {
        self.id = id
        self.codec = codec
        self.service = service
        self.timeZone = timeZone
    }
}

/// The apps and their families, indexed by the bytes of their names, so that a look-up creates no `String`.
package final class AppTable: Sendable {
    package let apps: [AppFacts]
    private let families: [(family: Family, members: [AppFacts])]
    /// Why messages to families cannot be accepted; nil if they can.
    let familyFault: String?
    /// Why messages at a local time cannot be accepted; nil if they can.
    let localTimeFault: String?
    let zones: TimeZones
    private let names: [[UInt8]]
    /// A hash table of the numbers of names plus one, with 0 for an empty slot. At least half of the slots are empty.
    private let slots: [UInt32]

    /// Creates a table. If two apps have the same name, the first is found. A family is left out unless all its members
    /// are among the apps.
    ///
    /// - Parameters:
    ///   - familyFault: Why messages to families cannot be accepted; nil if they can.
    ///   - localTimeFault: The same of messages at a local time.
    package init(
        _ apps: [AppFacts], families: [Family] = [], familyFault: String? = nil, localTimeFault: String? = nil,
        zones: TimeZones = .none
    ) {
        self.apps = apps
        self.zones = zones
        self.familyFault = familyFault
        self.localTimeFault = localTimeFault ?? familyFault
        let known = Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.families = families.compactMap { family in
            let members = family.members.compactMap { known[$0] }
            return members.isEmpty || members.count < family.members.count ? nil : (family, members)
        }
        names = (apps.map(\.id) + self.families.map(\.family.name)).map { Array($0.name.utf8) }
        var size = 8
        while size < 2 * names.count { size *= 2 }
        var slots = [UInt32](repeating: 0, count: size)
        for (number, name) in names.enumerated() {
            var slot = ByteView.lending(name) { $0.hash() } & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
        self.slots = slots
    }

    /// Returns whether this is the name of an app or of a family.
    package func contains(_ app: AppID) -> Bool {
        ByteView.lending(Array(app.name.utf8)) { place(of: $0) } != nil
    }

    /// Returns the family with this name; nil if there is none.
    func family(_ name: AppID) -> Family? {
        ByteView.lending(Array(name.name.utf8)) { family(of: $0)?.family }
    }

    /// Returns the number of the app with this name, or nil.
    func number(of name: ByteView) -> Int? { place(of: name).flatMap { $0 < apps.count ? $0 : nil } }

    /// Returns the family with this name and its members, or nil.
    func family(of name: ByteView) -> (family: Family, members: [AppFacts])? {
        place(of: name).flatMap { $0 < apps.count ? nil : families[$0 - apps.count] }
    }

    private func place(of name: ByteView) -> Int? {
        guard (1...64).contains(name.count) else { return nil }
        var slot = name.hash() & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if name.equals(names[number]) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }
}
