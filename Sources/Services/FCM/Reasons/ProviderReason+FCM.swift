import PushModel

extension ProviderReason {
    static let unregistered = ProviderReason(rawValue: "UNREGISTERED")
    static let senderIDMismatch = ProviderReason(rawValue: "SENDER_ID_MISMATCH")
    static let invalidArgument = ProviderReason(rawValue: "INVALID_ARGUMENT")
    /// INVALID_ARGUMENT, if the answer says that the argument is the address.
    static let invalidToken = ProviderReason(rawValue: "INVALID_TOKEN")
    static let quotaExceeded = ProviderReason(rawValue: "QUOTA_EXCEEDED")
    /// QUOTA_EXCEEDED, if the answer says that the quota is that of the project.
    static let projectQuotaExceeded = ProviderReason(rawValue: "PROJECT_QUOTA_EXCEEDED")
    static let unavailable = ProviderReason(rawValue: "UNAVAILABLE")
    static let internalError = ProviderReason(rawValue: "INTERNAL")
    static let thirdPartyAuthError = ProviderReason(rawValue: "THIRD_PARTY_AUTH_ERROR")
    static let accessTokenExpired = ProviderReason(rawValue: "ACCESS_TOKEN_EXPIRED")
    static let unauthenticated = ProviderReason(rawValue: "UNAUTHENTICATED")
    static let permissionDenied = ProviderReason(rawValue: "PERMISSION_DENIED")
    static let notFound = ProviderReason(rawValue: "NOT_FOUND")
}
