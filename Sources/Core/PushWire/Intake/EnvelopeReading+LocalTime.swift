import PushModel
import PushText
package import PushTime

/// Messages that go out at a local time: the members `at_local`, `time_zone` and `late`.
extension EnvelopeReading {
    struct LocalOptions {
        let local: LocalTime
        /// The zone of devices without one; nil for that of the app.
        let zone: String?
        let dropsLate: Bool
    }

    /// 2000-01-01. Clocks of earlier times differed more.
    private static let earliest: Int64 = 946_684_800
    private static let lateWords = WordTable(["send", "drop"])

    /// Returns the local time at which the message is to go out; nil if it has none.
    func localOptions() throws(Rejection) -> LocalOptions? {
        guard let position = position(.atLocal) else {
            for key in [EnvelopeKey.timeZone, .late] where self.position(key) != nil {
                throw Rejection(.badField, detail: "\(key.name) belongs to at_local, which is missing")
            }
            return nil
        }
        if self.position(.notBefore) != nil {
            throw Rejection(.badField, detail: "at_local and not_before exclude each other")
        }
        if apps.zones.isEmpty {
            throw Rejection(
                .badField, detail: "at_local: the server has no time zone database; its operator installs tzdata")
        }
        if let fault = apps.localTimeFault { throw Rejection(.badField, detail: "at_local: \(fault)") }
        try requireString(.atLocal, at: position)
        let text = json.string(position) ?? ""
        guard let local = LocalTime(text) else {
            throw Rejection(
                .badField,
                detail: "at_local is \"\(PlainText.name(text))\"; write it like 2026-12-01T09:00, without an offset")
        }
        guard local.seconds <= now.value + Self.maxDelay else {
            throw Rejection(.badField, detail: "at_local is more than a year and a day ahead")
        }
        guard local.seconds >= Self.earliest else {
            throw Rejection(.badField, detail: "at_local is before the year 2000")
        }
        return LocalOptions(
            local: local, zone: try zone(), dropsLate: try word(.late, of: Self.lateWords) == 1)
    }

    private func zone() throws(Rejection) -> String? {
        guard let position = position(.timeZone) else { return nil }
        try requireString(.timeZone, at: position)
        let name = json.string(position) ?? ""
        guard apps.zones.has(name) else {
            throw Rejection(.badField, detail: "time_zone: \(apps.zones.unknown(PlainText.name(name)))")
        }
        return name
    }

    /// Returns a request for each moment at which clocks show the time.
    func turns(
        of request: PushRequest, at options: LocalOptions, for app: AppFacts, moments: inout LocalMoments
    ) throws(Rejection) -> [PushRequest] {
        if request.message.activity.map({ $0.event != .start }) ?? request.audience.isOfActivities {
            throw Rejection(.badField, detail: "at_local: a Live Activity is updated and ended at once or not at all")
        }
        guard let zone = options.zone ?? app.timeZone else {
            throw Rejection(
                .badField,
                detail: "at_local needs time_zone, for devices without one: the app \(app.id) has no time_zone either")
        }
        guard let fallback = apps.zones.instant(of: options.local, in: zone) else {
            throw Rejection(.badField, detail: "at_local: time_zone of the app \(app.id): \(apps.zones.unknown(zone))")
        }
        guard let instants = moments.instants(of: options.local, in: apps.zones), let first = instants.first else {
            throw Rejection(
                .badField, detail: "at_local: \(apps.zones.source) has more than \(TimeZones.maxInstants) such times")
        }
        if case .at(let end) = request.message.expiry, first >= end {
            throw Rejection(.badField, detail: "at_local is not before expires_at in any time zone")
        }
        return instants.enumerated().map { place, time in
            let turn = LocalTurn(
                options.local, zone: options.zone, fallback: fallback,
                after: place == 0 ? nil : instants[place - 1], isLast: place == instants.count - 1,
                dropsLate: options.dropsLate)
            return PushRequest(
                request.message.at(time, in: turn), to: request.audience, again: request.again,
                findings: request.findings)
        }
    }

    /// Returns the first of the requests that belong to one envelope, which has the others.
    func joined(
        _ requests: [PushRequest], of family: Family?, turnCount: Int, findings: [UInt8]
    ) throws(Rejection) -> PushRequest {
        let size = requests.reduce(0) { $0 + $1.size }
        guard size <= Self.maxFamilySize else {
            let parts = family.map { "members of \($0.name)" } ?? "times of day"
            throw Rejection(
                .tooMany,
                detail: "\(size) bytes for the \(requests.count) \(parts) together; \(Self.maxFamilySize) are allowed: "
                    + "send to fewer users at once")
        }
        var first = PushRequest(
            requests[0].message, to: requests[0].audience, again: requests[0].again, findings: findings)
        first.fellows = FellowRequests(family, others: Array(requests.dropFirst()), turnCount: turnCount)
        return first
    }
}

/// The moments of the local times that one reader was asked for last. To find them takes a look at hundreds of zones,
/// and the messages of a campaign, and the members of a family, have the same ones.
struct LocalMoments {
    private static let limit = 4
    private var known: [(local: LocalTime, instants: [UnixSeconds]?)] = []

    /// - Parameter zones: The same ones in every call.
    mutating func instants(of local: LocalTime, in zones: TimeZones) -> [UnixSeconds]? {
        if let last = known.first(where: { $0.local == local }) { return last.instants }
        let instants = zones.instants(of: local)
        if known.count == Self.limit { known.removeFirst() }
        known.append((local, instants))
        return instants
    }
}

extension TimeZones {
    /// Says that there is no zone of this name.
    package func unknown(_ name: String) -> String {
        let nearest = NearestWord.to(name, in: names).map { "; did you mean \($0)?" } ?? ""
        return "there is no time zone \"\(name)\"\(nearest)"
    }
}
