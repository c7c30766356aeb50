/// The keys of an envelope, in the order in which producers usually write them. The set is closed, so that a typing
/// error is reported rather than ignored.
enum EnvelopeKey: Int, CaseIterable {
    case id, app, to, pushType, priority, expiresAt, notBefore, collapseID, onUnknown, again, traceparent
    case payload, alert, badge, sound, custom, image, link, category, thread, values, liveActivity, prefer, payloads
    case atLocal, timeZone, late

    static let count = allCases.count

    var name: String {
        switch self {
        case .id: "id"
        case .app: "app"
        case .to: "to"
        case .pushType: "push_type"
        case .priority: "priority"
        case .expiresAt: "expires_at"
        case .notBefore: "not_before"
        case .collapseID: "collapse_id"
        case .onUnknown: "on_unknown"
        case .again: "again"
        case .traceparent: "traceparent"
        case .payload: "payload"
        case .alert: "alert"
        case .badge: "badge"
        case .sound: "sound"
        case .custom: "custom"
        case .image: "image"
        case .link: "link"
        case .category: "category"
        case .thread: "thread"
        case .values: "values"
        case .liveActivity: "live_activity"
        case .prefer: "prefer"
        case .payloads: "payloads"
        case .atLocal: "at_local"
        case .timeZone: "time_zone"
        case .late: "late"
        }
    }

    /// The plain fields, from which a push service builds a payload.
    static let plain: [EnvelopeKey] = [.alert, .badge, .sound, .custom, .image, .link, .category, .thread]

    static let table = WordTable(allCases.map(\.name))

    /// A position for each key; 0, the position of the whole envelope, if the key is absent.
    typealias Positions = InlineArray<27, Int32>
}
