/// The platforms of gorush that the door serves.
enum GorushPlatform: Int64, Sendable {
    case ios = 1
    case android

    /// The word in `logs`.
    var word: String { self == .ios ? "ios" : "android" }
}

/// The keys of a notification: those of gorush's own structure, and those that only its README has.
enum GorushKey: String, CaseIterable, Sendable {
    case notifID = "notif_id"
    case to, tokens, platform, topic, message, title, image, priority
    case contentAvailable = "content_available"
    case mutableContent = "mutable_content"
    case sound, data, retry
    case notification, android, webpush, apns, condition
    case fcmOptions = "fcm_options"
    case appID = "app_id"
    case appSecret = "app_secret"
    case huaweiNotification = "huawei_notification"
    case huaweiData = "huawei_data"
    case huaweiCollapseKey = "huawei_collapse_key"
    case huaweiTTL = "huawei_ttl"
    case biTag = "bi_tag"
    case fastAppTarget = "fast_app_target"
    case expiration, badge, category, alert, production, development, event, timestamp, attributes
    case apnsID = "apns_id"
    case collapseID = "collapse_id"
    case pushType = "push_type"
    case threadID = "thread-id"
    case urlArgs = "url-args"
    case soundName = "name"
    case soundVolume = "volume"
    case interruptionLevel = "interruption_level"
    case contentState = "content-state"
    case staleDate = "stale-date"
    case dismissalDate = "dismissal-date"
    case attributesType = "attributes-type"
    case relevanceScore = "relevance-score"
    case collapseKey = "collapse_key"
    case timeToLive = "time_to_live"
    case delayWhileIdle = "delay_while_idle"
    case dryRun = "dry_run"
    case restrictedPackageName = "restricted_package_name"
}

extension GorushKey {
    /// The form that a value must have.
    enum Form: String {
        case text = "a string"
        case texts = "a list of strings"
        case whole = "a whole number"
        case number = "a number"
        case flag = "true or false"
        case object = "an object"
        case any
    }

    /// What the door makes of a key.
    enum Use {
        /// It means what it means to gorush.
        case taken
        /// It has no effect, and `logs` names it.
        case ignored
        /// A value that is not empty is refused.
        case refused
    }

    var form: Form {
        switch self {
        case .notifID, .to, .topic, .message, .title, .image, .priority, .condition, .appID, .appSecret, .huaweiData,
            .huaweiTTL, .biTag, .category, .event, .apnsID, .collapseID, .pushType, .threadID, .soundName,
            .interruptionLevel, .attributesType:
            .text
        case .tokens, .urlArgs: .texts
        case .platform, .retry, .huaweiCollapseKey, .fastAppTarget, .expiration, .badge, .timestamp, .staleDate,
            .dismissalDate:
            .whole
        case .soundVolume, .relevanceScore: .number
        case .contentAvailable, .mutableContent, .production, .development: .flag
        case .data, .notification, .android, .webpush, .apns, .fcmOptions, .huaweiNotification, .alert, .attributes,
            .contentState:
            .object
        // gorush does not read those that only its README has, so that any value is right.
        case .sound, .collapseKey, .timeToLive, .delayWhileIdle, .dryRun, .restrictedPackageName: .any
        }
    }

    func use(on platform: GorushPlatform) -> Use {
        switch self {
        case .notifID, .to, .tokens, .platform, .message, .title, .priority, .contentAvailable, .mutableContent, .sound,
            .data:
            .taken
        case .image, .notification, .android, .webpush, .apns, .fcmOptions: platform == .android ? .taken : .ignored
        case .topic: platform == .ios ? .taken : .refused
        case .condition: platform == .ios ? .ignored : .refused
        case .expiration, .badge, .category, .alert, .production, .development, .event, .timestamp, .attributes,
            .collapseID, .pushType, .threadID, .urlArgs, .soundName, .soundVolume, .interruptionLevel, .contentState,
            .staleDate, .dismissalDate, .attributesType, .relevanceScore:
            platform == .ios ? .taken : .ignored
        case .retry, .appID, .appSecret, .huaweiNotification, .huaweiData, .huaweiCollapseKey, .huaweiTTL, .biTag,
            .fastAppTarget, .apnsID, .collapseKey, .timeToLive, .delayWhileIdle, .dryRun, .restrictedPackageName:
            .ignored
        }
    }
}
