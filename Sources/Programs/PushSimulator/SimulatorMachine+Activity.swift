import PushLoop

extension SimulatorMachine {
    private static let topicSuffix: StaticString = ".push-type.liveactivity"

    /// Lets the phones show a notification for Live Activities that Apple has accepted. What no phone shows is accepted
    /// as well, and its record has a warning.
    mutating func showActivity(_ judgment: inout Judgment, of request: ProviderRequest) {
        let push = ActivityPush(request.body)
        // Without a priority, Apple uses 10.
        let isUrgent = judgment.record.priority == 10 || judgment.record.priority == 0
        guard judgment.record.service == .device else {
            guard let channel = judgment.label else { return }
            phones.expire(at: request.receivedAt, in: &devices)
            phones.take(push, on: channel, isUrgent: isUrgent, at: request.receivedAt, in: &devices)
            return
        }
        guard let device = devices.find(judgment.token) else { return }
        let display: Activity.Display
        switch device.kind {
        case .pushToStart:
            display = phones.start(
                push, token: judgment.token.bytes, of: device, app: Self.app(of: judgment.topic),
                at: request.receivedAt, in: &devices, random: &random)
        case .activity where device.activity > 0:
            display = phones.take(
                push, for: device.activity, isUrgent: isUrgent, at: request.receivedAt, in: &devices)
        default:
            return
        }
        var warnings = Warnings(rawValue: judgment.record.warnings)
        switch display {
        case .shown: return
        case .stale: warnings.insert(.activityStale)
        case .overBudget: warnings.insert(.activityOverBudget)
        case .notShown: warnings.insert(.activityNotShown)
        }
        judgment.record.warnings = warnings.rawValue
    }

    private static func app(of topic: ByteView?) -> String {
        guard let topic else { return "" }
        return topic.prefix(topic.hasSuffix(topicSuffix) ? topic.count - topicSuffix.utf8CodeUnitCount : topic.count)
            .text
    }
}
