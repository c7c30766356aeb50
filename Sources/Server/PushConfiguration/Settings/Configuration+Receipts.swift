package import Receipts

extension Configuration {
    /// The rules for receipts and signed data of the App Store. The apps are those of ``Configuration/apps``.
    package struct ReceiptRules: Sendable, Equatable {
        package enum Environment: String, Sendable, CaseIterable {
            case production, sandbox

            package var store: StoreEnvironment { self == .production ? .production : .sandbox }
        }

        /// The environments whose data is accepted.
        package var environments: [Environment] = [.production, .sandbox]
        /// The demand for a check of revocation.
        package var revocation = RevocationPolicy.soft
        /// A PEM file with roots that are trusted besides Apple's, for a simulator.
        package var roots: String?
        /// A file whose first line is the shared secret for `verifyReceipt`.
        package var sharedSecretFile: String?
        package var verify = Verify()

        package init() {}

        /// The servers that verify old receipts.
        package struct Verify: Sendable, Equatable {
            package var production = Self.apple.production
            package var sandbox = Self.apple.sandbox
            /// The roots that the servers' certificates need.
            package var trust = Endpoint.Trust.system

            private static let apple = VerifyReceiptClient.Endpoints()
        }
    }
}
