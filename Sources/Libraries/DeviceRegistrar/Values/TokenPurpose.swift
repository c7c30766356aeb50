/// What a token is for. An installation has one address for each purpose, besides several controls.
public struct TokenPurpose: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The kind of the address, such as `voip`.
    public let kind: String
    /// The name of the Live Activity that the address updates.
    public let activity: String?
    /// The type of the Live Activities that the address starts or updates.
    public let activityType: String?

    private init(_ kind: String, activity: String? = nil, activityType: String? = nil) {
        self.kind = kind
        self.activity = activity
        self.activityType = activityType
    }

    /// Calls: the token of PushKit.
    public static let voip = TokenPurpose("voip")
    /// Complications: the token of PushKit.
    public static let complication = TokenPurpose("complication")
    /// File providers: the token of PushKit.
    public static let fileProvider = TokenPurpose("fileprovider")
    /// Location queries.
    public static let location = TokenPurpose("location")
    /// Push to talk.
    public static let pushToTalk = TokenPurpose("pushtotalk")
    /// The widgets of the app.
    public static let widget = TokenPurpose("widget")

    /// Returns the purpose of starting Live Activities.
    ///
    /// - Parameter type: The type of the activities, as the backend names it.
    public static func starting(_ type: String) -> TokenPurpose { TokenPurpose("push_to_start", activityType: type) }

    /// Returns the purpose of updating a Live Activity.
    ///
    /// - Parameters:
    ///   - activity: The name of the activity, as the backend addresses it; up to 128 bytes.
    ///   - type: The type of the activity, as the backend names it.
    public static func updating(_ activity: String, type: String) -> TokenPurpose {
        TokenPurpose("activity", activity: activity, activityType: type)
    }

    public var description: String { ([kind] + [activityType, activity].compactMap { $0 }).joined(separator: " ") }
}
