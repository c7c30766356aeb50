extension Disposition {
    /// What a status and a reason ask for. A reason that is not known is classified by its status.
    package static func of(status: Int, reason: ProviderReason?) -> Disposition {
        status == 429 || status >= 500 ? .retry : .drop
    }
}
