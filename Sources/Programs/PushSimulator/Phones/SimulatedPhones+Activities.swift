import PushLoop
import PushRandom

extension SimulatedPhones {
    /// What an activity begins with.
    struct Beginning {
        var phone: UInt64
        var app: String
        var environment: APNsEnvironment?
        var type: [UInt8]
        var attributes: [UInt8]
        var content: [UInt8]
        var timestamp: Int64
        var staleDate: Int64?
        var relevance: [UInt8]?
        var channel: [UInt8]?
        /// Whether it gets a token for updates.
        var hasToken = true
    }

    /// Starts an activity, and returns its number. Nil: there is no room for it.
    mutating func start(
        _ beginning: Beginning, at now: WallTime, in devices: inout SimulatedDevices, random: inout SeededRandom
    ) -> UInt64? {
        while activities.count >= activityLimit {
            guard forgetOldest(in: &devices) else { return nil }
        }
        guard !beginning.hasToken || devices.room > 0 else { return nil }
        lastActivity += 1
        var activity = Activity(
            number: lastActivity, phone: beginning.phone, app: beginning.app, type: beginning.type,
            attributes: beginning.attributes, startedAt: now, channel: beginning.channel, content: beginning.content,
            timestamp: beginning.timestamp, staleDate: beginning.staleDate, relevance: beginning.relevance)
        if beginning.hasToken {
            let token = Self.newToken(.activity, random: &random)
            var device = SimulatedDevices.Device(
                since: now, topics: beginning.app.isEmpty ? [] : [beginning.app], environment: beginning.environment,
                kind: .activity)
            device.phone = beginning.phone
            device.activity = lastActivity
            devices.set(device, forToken: token)
            activity.token = token
        }
        activities[lastActivity] = activity
        if beginning.channel != nil { subscribers.insert(lastActivity) }
        return lastActivity
    }

    /// Starts an activity as a notification to a push-to-start token says. Returns what the phone does with it.
    mutating func start(
        _ push: ActivityPush, token: [UInt8], of device: SimulatedDevices.Device, app: String, at now: WallTime,
        in devices: inout SimulatedDevices, random: inout SeededRandom
    ) -> Activity.Display {
        guard push.event == .start, push.isComplete, let timestamp = push.timestamp, let type = push.attributesType,
            let attributes = push.attributes, let content = push.contentState
        else { return .notShown }
        let start = phones[device.phone]?.tokens.first { $0.bytes == token }
        if let expected = start?.activityType, Array(expected.utf8) != type { return .notShown }
        let beginning = Beginning(
            phone: device.phone, app: app, environment: device.environment, type: type,
            attributes: attributes.copied(), content: content.copied(), timestamp: timestamp,
            staleDate: push.staleDate, relevance: push.relevance?.copied(), channel: push.channel,
            // Before iOS 18 the phone made a token without being asked.
            hasToken: push.asksForToken || push.channel == nil)
        return self.start(beginning, at: now, in: &devices, random: &random) == nil ? .notShown : .shown
    }

    /// Shows an update or an end. Returns what the phone does with it.
    mutating func take(
        _ push: ActivityPush, for number: UInt64, isUrgent: Bool, at now: WallTime, in devices: inout SimulatedDevices
    ) -> Activity.Display {
        guard let phone = activities[number]?.phone, activities[number]?.endedAt == nil else { return .notShown }
        let budget = phones[phone]?.budget
        let display = activities[number]?.take(push, isUrgent: isUrgent, budget: budget, at: now) ?? .notShown
        if display == .shown, push.event == .end { end(number, by: .push, at: now, in: &devices) }
        return display
    }

    /// Shows a broadcast on all activities of its channel.
    mutating func take(
        _ push: ActivityPush, on channel: ByteView, isUrgent: Bool, at now: WallTime, in devices: inout SimulatedDevices
    ) {
        for number in subscribers {
            guard let own = activities[number]?.channel, channel.equals(own) else { continue }
            _ = take(push, for: number, isUrgent: isUrgent, at: now, in: &devices)
        }
    }

    /// Ends an activity; its token is answered with 410 from then on. Does nothing if it has ended.
    mutating func end(
        _ number: UInt64, by ending: Activity.Ending, at now: WallTime, in devices: inout SimulatedDevices
    ) {
        guard activities[number] != nil, activities[number]?.endedAt == nil else { return }
        activities[number]?.endedAt = now
        activities[number]?.ending = ending
        if let token = activities[number]?.token { devices.retire(token, as: .expired, at: now) }
        subscribers.remove(number)
        ended.append(number)
    }

    /// Removes an activity from the lock screen, as a person does. Returns false if there is no such activity.
    mutating func dismiss(_ number: UInt64, at now: WallTime, in devices: inout SimulatedDevices) -> Bool {
        guard let activity = activities[number] else { return false }
        end(number, by: .person, at: now, in: &devices)
        // One that had ended keeps the reason of its end.
        activities[number]?.dismissalDate = min(activity.dismissalDate ?? now.seconds, now.seconds)
        return true
    }

    /// Ends the activities that began eight hours ago.
    mutating func expire(at now: WallTime, in devices: inout SimulatedDevices) {
        while oldestLive <= lastActivity {
            if let activity = activities[oldestLive], activity.endedAt == nil {
                guard activity.startedAt.milliseconds <= now.milliseconds - Activity.lifetime else { return }
                end(oldestLive, by: .system, at: now, in: &devices)
            }
            oldestLive += 1
        }
    }

    /// Forgets the activity that ended first, with its tokens. Returns false if none has ended.
    private mutating func forgetOldest(in devices: inout SimulatedDevices) -> Bool {
        guard firstEnded < ended.count else { return false }
        let number = ended[firstEnded]
        firstEnded += 1
        if firstEnded > 1024, 2 * firstEnded > ended.count {
            ended.removeFirst(firstEnded)
            firstEnded = 0
        }
        guard let activity = activities.removeValue(forKey: number) else { return true }
        for token in activity.tokens { devices.remove(token) }
        return true
    }
}
