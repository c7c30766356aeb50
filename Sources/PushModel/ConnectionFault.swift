/// Why a connection to a push service did not come up, or why it ended: one code and one sentence.
///
/// The log, the event `connection/…/down`, `stats`, `scale` and `/readyz` all show this value and word nothing of their
/// own, so that an operator who searches for what one of them says finds it in the others.
package struct ConnectionFault: Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Sendable {
        /// DNS: the host has no address, or the look-up failed.
        case nameNotFound = "name_not_found"
        case refused
        case unreachable
        case timedOut = "timed_out"
        /// The peer vanished: a reset, or the end of TCP without the end of TLS.
        case reset
        /// The peer closed the connection in good order, without an answer.
        case closedByPeer = "closed_by_peer"
        /// This side does not trust the certificate of the push service.
        case notTrusted = "not_trusted"
        /// The push service does not take the certificate of this side, or wants one.
        case certificateRefused = "certificate_refused"
        /// Any other failure of TLS.
        case tls
        /// The peer breaks HTTP/2 or the legacy protocol.
        case badProtocol = "protocol"
        /// The peer was connected, and then gave no sign of life.
        case silent
        case goAway = "goaway"
        /// The push service answered a push with a word that is about the credential.
        case credentialRefused = "credential_refused"
        /// This side closed it.
        case closed
        /// This machine has no descriptor, memory or port for another connection, or something else went wrong here.
        case local
    }

    package let code: Code
    /// What happened, where, and what to do.
    package let sentence: String
    /// The word of the push service for it, if there was one.
    package let reason: ProviderReason?

    package init(_ code: Code, _ sentence: String, reason: ProviderReason? = nil) {
        self.code = code
        self.sentence = sentence
        self.reason = reason
    }

    /// The push service answered, and with something that is about the credential.
    package init(refused refusal: Refusal) {
        let (meaning, advice) = refusal.explanation
        self.init(
            .credentialRefused,
            "the push service answered \(refusal.status)\(refusal.reason.map { " \($0)" } ?? ""): \(meaning); \(advice)",
            reason: refusal.reason)
    }

    /// For the `reason` of an event: the word of the push service, else the code.
    package var word: String { reason?.rawValue ?? code.rawValue }

    package var description: String { sentence }
}
