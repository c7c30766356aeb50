package import PushTime

/// Announces 30, 7 and 1 days ahead that a credential expires, each once.
///
/// Each notice is published once also across restarts: the owner stores what was announced (``Announcement``) with the
/// published events and passes it in at the next start. Without it, at a first start or after a loss, the current
/// window of a credential is announced again, since twice is better than never; earlier windows are not. A renewed
/// credential has another end and starts anew. A clock that goes back does not repeat notices.
package struct ExpiryWatch: Sendable {
    package enum Window: Int, Sendable, CaseIterable, Comparable {
        case month = 30
        case week = 7
        case day = 1

        package var days: Int { rawValue }

        /// A window is greater the nearer it is to the end.
        package static func < (left: Window, right: Window) -> Bool { left.days > right.days }
    }

    /// The identity of a notice that was published.
    package struct Announcement: Hashable, Sendable {
        /// The name of the credential: an app id or a fingerprint.
        package let name: String
        package let notAfter: WallTime
        package let window: Window

        package init(name: String, notAfter: WallTime, window: Window) {
            self.name = name
            self.notAfter = notAfter
            self.window = window
        }
    }

    /// The content of a `credential.expiring` event.
    package struct Notice: Hashable, Sendable {
        package let announcement: Announcement
        /// The seconds until the credential expires, negative after that.
        package let secondsLeft: Int64
    }

    /// The longest time between two looks, however far the next notice is, because the wall clock may be set at any
    /// time.
    package static let maxWait: Duration = .seconds(3600)

    private var ends: [String: WallTime] = [:]
    /// The nearest window that was announced, by name.
    private var announced: [String: (notAfter: WallTime, window: Window)] = [:]

    /// Creates a watch. `announced` contains the notices of earlier runs, in any order.
    package init(announced: some Sequence<Announcement> = EmptyCollection()) {
        for one in announced { note(one) }
    }

    /// Adds a credential, or replaces the end of the credential with this name.
    package mutating func watch(_ name: String, notAfter: WallTime) {
        ends[name] = notAfter
    }

    package mutating func forget(_ name: String) {
        ends[name] = nil
        announced[name] = nil
    }

    /// Returns the notices that are due, ordered by the end of the credential. A credential has at most one, for its
    /// nearest window.
    package mutating func look(at now: WallTime) -> [Notice] {
        var notices: [Notice] = []
        for (name, end) in ends {
            guard let window = Window.allCases.last(where: { now >= Self.begin(of: $0, before: end) }) else { continue }
            if let last = announced[name], last.notAfter == end, last.window >= window { continue }
            let one = Announcement(name: name, notAfter: end, window: window)
            note(one)
            notices.append(Notice(announcement: one, secondsLeft: end.seconds - now.seconds))
        }
        return notices.sorted { ($0.secondsLeft, $0.announcement.name) < ($1.secondsLeft, $1.announcement.name) }
    }

    /// Returns the time of the next notice, or `maxWait` from now if that is sooner. Returns nil if no notice
    /// remains.
    package func nextLook(after now: WallTime) -> WallTime? {
        var next: WallTime?
        for (name, end) in ends {
            let last = announced[name].flatMap { $0.notAfter == end ? $0.window : nil }
            guard let window = Window.allCases.first(where: { last == nil || $0 > last! }) else { continue }
            let begin = max(now, Self.begin(of: window, before: end))
            next = min(next ?? begin, begin)
        }
        return next.map { min($0, now + Self.maxWait) }
    }

    private mutating func note(_ one: Announcement) {
        if let last = announced[one.name] {
            // The later end belongs to the newer credential.
            guard (last.notAfter, last.window) < (one.notAfter, one.window) || ends[one.name] == one.notAfter else {
                return
            }
        }
        announced[one.name] = (one.notAfter, one.window)
    }

    private static func begin(of window: Window, before end: WallTime) -> WallTime {
        WallTime(milliseconds: end.milliseconds - Int64(window.days) * 86_400_000)
    }
}
