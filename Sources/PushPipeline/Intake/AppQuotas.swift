import PushModel

/// Decides whether an app has room for one more message. Known here are the messages that were handed to the ledger and
/// have not been answered; what the app holds beyond that is asked for once for each run of messages.
struct AppQuotas {
    private struct Entry {
        let app: AppID
        var limits: AppLimits
        var load = AppLoad()
        /// The run for which `load` was asked.
        var run: UInt64 = 0
        var unanswered = 0
        /// Of those, the ones with a `not_before`, past or not.
        var unansweredLater = 0
        var remembered = RememberedIDs()
        /// Seconds since 1970 when each quota was last reported.
        var reportedAt: [AppQuota: Int64] = [:]
    }

    private var limits: [AppID: AppLimits]
    /// For apps without limits of their own.
    private let standard = AppLimits()
    private var entries: [Entry] = []
    private var places: [AppID: Int] = [:]
    private var last: (app: AppID, place: Int)?
    /// Seconds for which ids are remembered.
    var window: Int64

    init(limits: [AppID: AppLimits] = [:], window: Int64) {
        self.limits = limits
        self.window = window
    }

    mutating func replaceLimits(_ limits: [AppID: AppLimits]) {
        self.limits = limits
        for index in entries.indices { entries[index].limits = limits[entries[index].app] ?? standard }
    }

    /// The number of apps that share what there is.
    var appCount: Int { max(1, limits.count, entries.count) }

    func limits(of app: AppID) -> AppLimits { limits[app] ?? standard }

    // MARK: Decisions

    /// Counts the message as unanswered, or says which limit it would break.
    ///
    /// - Parameters:
    ///   - share: what one app may hold because the pipeline as a whole is full; nil if it is not.
    ///   - load: asked at most once for each app and run.
    mutating func admit(
        _ message: Message, at now: Int64, run: UInt64, share: Int?, load: (AppID) -> AppLoad
    ) -> AppQuota? {
        let place = place(of: message.app)
        if entries[place].run != run {
            entries[place].run = run
            entries[place].load = load(message.app)
            entries[place].remembered.forget(at: now, window: window)
        }
        let unanswered = entries[place].unanswered
        let (load, limits) = (entries[place].load, entries[place].limits)
        if let notBefore = message.notBefore, notBefore > now {
            guard load.scheduled + entries[place].unansweredLater < limits.scheduled else { return .scheduled }
        } else {
            guard load.waiting + unanswered < limits.waiting else { return .waiting }
            if let share, load.waiting + unanswered >= share { return .share }
        }
        guard entries[place].remembered.count + unanswered < limits.remembered else { return .remembered }
        entries[place].unanswered += 1
        if message.notBefore != nil { entries[place].unansweredLater += 1 }
        return nil
    }

    /// The ledger has answered these, in the same order.
    mutating func answered(_ requests: [PushRequest], _ acceptances: [Acceptance], at now: Int64) {
        // Most groups are of one app.
        var (unanswered, later, new) = (0, 0, 0)
        for (index, (request, acceptance)) in zip(requests, acceptances).enumerated() {
            unanswered += 1
            if request.message.notBefore != nil { later += 1 }
            if case .accepted = acceptance { new += Self.remembered(of: request.audience) }
            let app = request.message.app
            if index + 1 < requests.count, requests[index + 1].message.app == app { continue }
            let place = place(of: app)
            entries[place].unanswered -= unanswered
            entries[place].unansweredLater -= later
            if new > 0 { entries[place].remembered.add(new, at: now, window: window) }
            (unanswered, later, new) = (0, 0, 0)
        }
    }

    /// Its id, and its deliveries if it names several devices. How many devices the registry finds is known only later.
    private static func remembered(of audience: Audience) -> Int {
        guard let named = audience.named, named > 1 else { return 1 }
        return 1 + named
    }

    /// Counts an answered message again, which will be handed in again.
    mutating func hold(_ message: Message) {
        let place = place(of: message.app)
        entries[place].unanswered += 1
        if message.notBefore != nil { entries[place].unansweredLater += 1 }
    }

    /// Whether nobody was told in this second that the app has reached this limit.
    mutating func isWorthReport(_ quota: AppQuota, of app: AppID, at now: Int64) -> Bool {
        let place = place(of: app)
        return entries[place].reportedAt.updateValue(now, forKey: quota) != now
    }

    private mutating func place(of app: AppID) -> Int {
        // Most runs are of one app.
        if let last, last.app == app { return last.place }
        let place: Int
        if let known = places[app] {
            place = known
        } else {
            place = entries.count
            entries.append(Entry(app: app, limits: limits[app] ?? standard))
            places[app] = place
        }
        last = (app, place)
        return place
    }
}

/// How many message ids of an app were taken within the window: counted by pieces of a 32nd of it, each of which is
/// forgotten as a whole when its last id is.
struct RememberedIDs {
    private var pieces: [(begin: Int64, count: Int)] = []
    private(set) var count = 0

    mutating func add(_ ids: Int, at now: Int64, window: Int64) {
        count += ids
        // A clock that was set back counts with what is newest.
        if let last = pieces.last, now < last.begin + max(1, window / 32) {
            pieces[pieces.count - 1].count += ids
        } else {
            pieces.append((now, ids))
        }
    }

    mutating func forget(at now: Int64, window: Int64) {
        let piece = max(1, window / 32)
        while let first = pieces.first, first.begin + piece + window <= now {
            count -= first.count
            pieces.removeFirst()
        }
    }
}
