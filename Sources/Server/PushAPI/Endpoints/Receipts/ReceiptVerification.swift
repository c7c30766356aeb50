package import PushModel
package import Receipts

/// The verification of App Store data, by the configuration in force.
package protocol ReceiptVerification: AnyObject, Sendable {
    /// Verifies data that the App Store signed.
    ///
    /// - Throws: ``ReceiptRefusal``, or ``ReceiptVerificationError``.
    func verify(_ text: String) async throws -> VerifiedData

    /// Returns what a text claims about its signer. Nothing is verified.
    func signer(claimedBy text: String) -> ClaimedSigner

    /// Verifies an old receipt of an app's bundle. Apple's server does it.
    ///
    /// - Throws: ``ReceiptRefusal``, or ``ReceiptVerificationError``.
    func verify(receipt: String, excludingOldTransactions: Bool) async throws -> ClassicReceipt

    /// Returns the app with a bundle id; nil if no app of the configuration has it.
    func app(of bundleID: String) -> AppID?

    /// Notes that a notification was refused, for the log.
    func refused(_ refusal: ReceiptRefusal)
}

/// The reason why nothing was verified.
package enum ReceiptVerificationError: Error, Sendable, Equatable {
    /// Too many calls wait.
    case busy
    /// Old receipts are not configured.
    case notConfigured
}

extension Problem {
    /// The answer for an error of a verification that says nothing about the data; nil if it is a verdict.
    init?(_ error: any Error) {
        switch error {
        case ReceiptVerificationError.busy:
            self.init(.unavailable, detail: "too much data waits for its verification; send this again later")
        case ReceiptVerificationError.notConfigured:
            self.init(
                .invalid,
                detail: "old receipts cannot be verified: receipts.classic is off; send signed transactions")
        case let refusal as ReceiptRefusal where refusal.isRetryable:
            self.init(.unavailable, detail: refusal.sentence)
        default: return nil
        }
    }
}
