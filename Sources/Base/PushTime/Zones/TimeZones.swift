/// The time zones of a database, by name.
package struct TimeZones: Sendable {
    private let zones: [String: ZoneRules]
    /// The zones that differ, of which there are fewer than names.
    private let different: [ZoneRules]
    /// Where they come from, for people.
    package let source: String

    /// The largest number of different times at which clocks show one local time: there are about 40. More would make
    /// too many messages of one.
    package static let maxInstants = 64

    package init(_ zones: [String: ZoneRules], source: String) {
        self.zones = zones
        different = Array(Set(zones.values))
        self.source = source
    }

    /// No database.
    package static let none = TimeZones([:], source: "no database")

    package var isEmpty: Bool { zones.isEmpty }
    package var count: Int { zones.count }
    package var names: [String] { zones.keys.sorted() }

    package func has(_ name: String) -> Bool { zones[name] != nil }

    /// Returns when a zone's clock shows a time; nil if there is no such zone.
    package func instant(of local: LocalTime, in name: String) -> UnixSeconds? { zones[name]?.instant(of: local) }

    /// Returns when the clocks of all zones show a time, ascending, each time once; nil if these are too many.
    package func instants(of local: LocalTime) -> [UnixSeconds]? {
        let instants = Set(different.map { $0.instant(of: local) }).sorted()
        return instants.count <= Self.maxInstants ? instants : nil
    }
}
