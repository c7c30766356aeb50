package import PushModel
package import PushTime

/// The messages and deliveries of one app that are not done, and since when they wait.
package struct AppWaits: Sendable, Equatable {
    package let app: AppID
    /// The messages that are due and not completed: those for few devices, and those for many.
    package let few: Wait
    package let many: Wait
    /// The deliveries that are at a gateway and have no result.
    package let unanswered: Wait

    /// The messages of both kinds together.
    package var messages: Wait {
        let oldest = [few.oldest, many.oldest].compactMap(\.self).min()
        return Wait(count: few.count + many.count, oldest: oldest)
    }

    package struct Wait: Sendable, Equatable {
        package let count: Int
        /// The time since which the oldest one waits; nil if there is none.
        package let oldest: WallTime?

        package init(count: Int, oldest: WallTime?) {
            (self.count, self.oldest) = (count, oldest)
        }

        /// Returns how long the oldest one has waited; zero if there is none, or if the clock was set back.
        package func age(at now: WallTime) -> Duration {
            .milliseconds(max(0, oldest.map { now.milliseconds(since: $0) } ?? 0))
        }
    }
}

extension RouterMachine {
    /// The time at which the next scheduled message is due; nil if none is scheduled.
    package var nextDue: UnixSeconds? { schedule.nextDue }

    /// Returns what waits, for each app that the router knows. The cost does not depend on how much waits.
    package func waits() -> [AppWaits] {
        apps.all.map { app in
            AppWaits(
                app: apps[app].id, few: wait(of: app, isBrief: true), many: wait(of: app, isBrief: false),
                unanswered: AppWaits.Wait(count: apps[app].unanswered.count, oldest: apps[app].unanswered.oldest))
        }
    }

    private func wait(of app: AppIndex, isBrief: Bool) -> AppWaits.Wait {
        var (count, oldest) = (0, WallTime?.none)
        for lane in app.lanes where lane.isBrief == isBrief {
            count += lanes[lane].waits.count
            if let time = lanes[lane].waits.oldest { oldest = min(oldest ?? time, time) }
        }
        return AppWaits.Wait(count: count, oldest: oldest)
    }
}
