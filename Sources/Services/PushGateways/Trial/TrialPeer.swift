package import PushModel

/// The push service of a trial, as the texts about the trial name it.
package struct TrialPeer: Sendable {
    /// The host and port.
    package let address: String
    /// Whether the host is one of the push service itself, rather than a simulator or a private service.
    package let isOfOwner: Bool
    /// The trusted roots, as the configuration has them.
    package let trust: String
    package let description: ServiceDescription
    package let reasons: ReasonTable

    package init(
        address: String, isOfOwner: Bool, trust: String, description: ServiceDescription, reasons: ReasonTable
    ) {
        self.address = address
        self.isOfOwner = isOfOwner
        self.trust = trust
        self.description = description
        self.reasons = reasons
    }
}
