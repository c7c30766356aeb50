import PushModel

extension ProviderReason {
    static let invalidArgument = ProviderReason(rawValue: "INVALID_ARGUMENT")
    /// INVALID_ARGUMENT, if the answer says that the argument is the address.
    static let invalidToken = ProviderReason(rawValue: "INVALID_TOKEN")
    static let quotaExceeded = ProviderReason(rawValue: "QUOTA_EXCEEDED")
    /// QUOTA_EXCEEDED, if the answer says that the quota is that of the project.
    static let projectQuotaExceeded = ProviderReason(rawValue: "PROJECT_QUOTA_EXCEEDED")
}
