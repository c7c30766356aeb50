import PushModel
import PushTime

/// Decides whether an app has room for one more message. It counts the messages that were handed to the ledger and have
/// not been answered; the rest of the app's load is queried once for each run of messages.
struct AppQuotas {
    private struct Entry {
        let app: AppID
        var limits: AppLimits
        var load = AppLoad()
        /// The run in which `load` was queried.
        var run: UInt64 = 0
        var unanswered = 0
        /// The unanswered messages that have a `not_before`, whether it has passed or not.
        var unansweredLater = 0
        var remembered = RememberedIDs()
        /// The second in which each quota was last reported.
        var reportedAt: [AppQuota: UnixSeconds] = [:]
    }

    private var limits: [AppID: AppLimits]
    /// The limits of apps without configured limits.
    private let standard = AppLimits()
    private var entries: [Entry] = []
    private var places: [AppID: Int] = [:]
    private var last: (app: AppID, place: Int)?
    /// The time for which ids are remembered.
    var window: Duration

    init(limits: [AppID: AppLimits] = [:], window: Duration) {
        self.limits = limits
        self.window = window
    }

    mutating func replaceLimits(_ limits: [AppID: AppLimits]) {
        self.limits = limits
        for index in entries.indices { entries[index].limits = limits[entries[index].app] ?? standard }
    }

    /// The number of apps that share the pipeline.
    var appCount: Int { max(1, limits.count, entries.count) }

    func limits(of app: AppID) -> AppLimits { limits[app] ?? standard }

    // MARK: Decisions

    /// Counts the message as unanswered, or returns the limit that it would exceed.
    ///
    /// - Parameters:
    ///   - share: the number of messages that one app may hold because the pipeline as a whole is full; nil if it is
    ///     not full.
    ///   - load: returns what the app holds; called at most once for each app and run.
    mutating func admit(
        _ message: Message, at now: UnixSeconds, run: UInt64, share: Int?, load: (AppID) -> AppLoad
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

    /// Undoes ``admit(_:at:run:share:load:)`` for a message that is not handed to the ledger.
    mutating func release(_ message: Message) {
        let place = place(of: message.app)
        entries[place].unanswered -= 1
        if message.notBefore != nil { entries[place].unansweredLater -= 1 }
    }

    /// Called when the ledger has answered these requests; `answers` has the same order.
    mutating func answered(_ requests: [PushRequest], _ answers: GroupAcceptances, at now: UnixSeconds) {
        answered(requests, answers.all, at: now)
        for (index, request) in requests.enumerated() {
            guard let fellows = request.fellows else { continue }
            answered(fellows.others, Array(answers.members(of: index).dropFirst()), at: now)
        }
    }

    /// `acceptances` has the same order as the requests.
    mutating func answered(_ requests: [PushRequest], _ acceptances: [Acceptance], at now: UnixSeconds) {
        // Most groups contain requests of one app only.
        var (unanswered, later, new) = (0, 0, 0)
        let requests = requests.span
        for index in 0..<min(requests.count, acceptances.count) {
            unanswered += 1
            if requests[index].message.notBefore != nil { later += 1 }
            if case .accepted = acceptances[index] { new += Self.remembered(of: requests[index].audience) }
            let app = requests[index].message.app
            if index + 1 < requests.count, requests[index + 1].message.app == app { continue }
            let place = place(of: app)
            entries[place].unanswered -= unanswered
            entries[place].unansweredLater -= later
            if new > 0 { entries[place].remembered.add(new, at: now, window: window) }
            (unanswered, later, new) = (0, 0, 0)
        }
    }

    /// Returns the number of entries that the ledger remembers for a message: its id, and its deliveries if it names
    /// several devices. How many devices of users or tags the registry finds is not known yet.
    private static func remembered(of audience: Audience) -> Int {
        guard let named = audience.named, named > 1 else { return 1 }
        return 1 + named
    }

    /// Counts an answered message as unanswered again, because it is retried later.
    mutating func hold(_ request: PushRequest) {
        hold(request.message)
        for other in request.fellows?.others ?? [] { hold(other.message) }
    }

    mutating func hold(_ message: Message) {
        let place = place(of: message.app)
        entries[place].unanswered += 1
        if message.notBefore != nil { entries[place].unansweredLater += 1 }
    }

    /// Returns whether this limit of the app has not been reported in the current second.
    mutating func isWorthReport(_ quota: AppQuota, of app: AppID, at now: UnixSeconds) -> Bool {
        let place = place(of: app)
        return entries[place].reportedAt.updateValue(now, forKey: quota) != now
    }

    private mutating func place(of app: AppID) -> Int {
        // Most runs contain messages of one app only.
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

/// The number of message ids of an app that were accepted within the window. The window is divided into 32 pieces; each
/// piece is forgotten as a whole when its last id has expired.
struct RememberedIDs {
    private var pieces: [(begin: UnixSeconds, count: Int)] = []
    private(set) var count = 0

    mutating func add(_ ids: Int, at now: UnixSeconds, window: Duration) {
        count += ids
        // If the clock was set back, the ids count in the newest piece.
        if let last = pieces.last, now < last.begin + max(.seconds(1), window / 32) {
            pieces[pieces.count - 1].count += ids
        } else {
            pieces.append((now, ids))
        }
    }

    mutating func forget(at now: UnixSeconds, window: Duration) {
        let piece = max(.seconds(1), window / 32)
        while let first = pieces.first, first.begin + piece + window <= now {
            count -= first.count
            pieces.removeFirst()
        }
    }
}
