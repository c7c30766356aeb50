import PushModel

/// The number of unfinished messages of one app in the ledger.
package struct AppBacklog: Sendable, Equatable {
    /// Messages that could be sent when they were accepted.
    package var waiting = 0
    /// Messages that had a `not_before` in the future when they were accepted.
    package var scheduled = 0

    package init() {}

    /// Returns the numbers of all parts if these are those of some of them. Without any part nothing is known.
    func projected(from parts: Int, to all: Int) -> AppBacklog {
        guard parts > 0, parts < all else { return self }
        var whole = self
        whole.waiting = waiting.multipliedReportingOverflow(by: all).partialValue / parts
        whole.scheduled = scheduled.multipliedReportingOverflow(by: all).partialValue / parts
        return whole
    }
}

/// The backlogs of all apps. Successive messages mostly belong to one app, so the index of the last app is kept.
struct AppBacklogs: Sendable {
    private(set) var counts: [AppBacklog] = []
    private(set) var apps: [AppID] = []
    private var places: [AppID: Int] = [:]
    private var last = 0

    subscript(app: AppID) -> AppBacklog { places[app].map { counts[$0] } ?? AppBacklog() }

    var byApp: [AppID: AppBacklog] {
        Dictionary(uniqueKeysWithValues: zip(apps, counts).filter { $0.1 != AppBacklog() })
    }

    mutating func add(_ app: AppID, waiting: Int = 0, scheduled: Int = 0) {
        if last >= apps.count || apps[last] != app { last = place(of: app) }
        counts[last].waiting += waiting
        counts[last].scheduled += scheduled
    }

    private mutating func place(of app: AppID) -> Int {
        if let known = places[app] { return known }
        places[app] = apps.count
        apps.append(app)
        counts.append(AppBacklog())
        return apps.count - 1
    }
}
