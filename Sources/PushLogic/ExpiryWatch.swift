package import PushTime

/// Says 30, 7 and 1 days ahead that a credential ends, each once.
///
/// Once also after a restart: what was said is a value (`Said`) that the owner keeps with the events it published, and
/// hands back at the next start. Without it (a first start, a lost record) the window that a credential is in is said
/// again, for twice is better than never; the windows before it are not, they have nothing more to tell. A renewed
/// credential has another end and begins anew. A clock that goes back unsays nothing.
package struct ExpiryWatch: Sendable {
    package enum Window: Int, Sendable, CaseIterable, Comparable {
        case month = 30
        case week = 7
        case day = 1

        package var days: Int { rawValue }

        /// The nearer the end, the greater.
        package static func < (left: Window, right: Window) -> Bool { left.days > right.days }
    }

    /// One notice that went out.
    package struct Said: Hashable, Sendable {
        /// What the credential is called: an app id, a fingerprint.
        package let name: String
        package let notAfter: WallTime
        package let window: Window

        package init(name: String, notAfter: WallTime, window: Window) {
            self.name = name
            self.notAfter = notAfter
            self.window = window
        }
    }

    /// `credential.expiring`.
    package struct Notice: Hashable, Sendable {
        package let said: Said
        /// Negative when it is over.
        package let secondsLeft: Int64
    }

    /// A wall clock may be stepped at any time: however far the next notice is, look at least as often as this.
    package static let longestWait: Duration = .seconds(3600)

    private var ends: [String: WallTime] = [:]
    /// The nearest window that was said, by name.
    private var said: [String: (notAfter: WallTime, window: Window)] = [:]

    /// `said`: what earlier runs announced, in any order.
    package init(said: some Sequence<Said> = EmptyCollection()) {
        for one in said { note(one) }
    }

    /// Adds a credential, or replaces the end of the one of this name.
    package mutating func watch(_ name: String, notAfter: WallTime) {
        ends[name] = notAfter
    }

    package mutating func forget(_ name: String) {
        ends[name] = nil
        said[name] = nil
    }

    /// The notices that are due, those that end first being first. At most one a credential: the nearest window.
    package mutating func look(at now: WallTime) -> [Notice] {
        var notices: [Notice] = []
        for (name, end) in ends {
            guard let window = Window.allCases.last(where: { now >= Self.begin(of: $0, before: end) }) else { continue }
            if let last = said[name], last.notAfter == end, last.window >= window { continue }
            let one = Said(name: name, notAfter: end, window: window)
            note(one)
            notices.append(Notice(said: one, secondsLeft: end.seconds - now.seconds))
        }
        return notices.sorted { ($0.secondsLeft, $0.said.name) < ($1.secondsLeft, $1.said.name) }
    }

    /// When the next notice is due, or `longestWait` from now if that is sooner. Nil when none is to come.
    package func nextLook(after now: WallTime) -> WallTime? {
        var next: Int64?
        for (name, end) in ends {
            let last = said[name].flatMap { $0.notAfter == end ? $0.window : nil }
            guard let window = Window.allCases.first(where: { last == nil || $0 > last! }) else { continue }
            let begin = max(now.milliseconds, Self.begin(of: window, before: end).milliseconds)
            next = min(next ?? begin, begin)
        }
        let wait = Self.longestWait.wholeMilliseconds
        return next.map { WallTime(milliseconds: min($0, now.milliseconds + wait)) }
    }

    /// For a gauge: seconds until the credential of this name ends, negative when it is over.
    package func secondsLeft(_ name: String, at now: WallTime) -> Int64? {
        ends[name].map { $0.seconds - now.seconds }
    }

    private mutating func note(_ one: Said) {
        if let last = said[one.name] {
            // A later end is the newer credential.
            guard (last.notAfter, last.window) < (one.notAfter, one.window) || ends[one.name] == one.notAfter else {
                return
            }
        }
        said[one.name] = (one.notAfter, one.window)
    }

    private static func begin(of window: Window, before end: WallTime) -> WallTime {
        WallTime(milliseconds: end.milliseconds - Int64(window.days) * 86_400_000)
    }
}
