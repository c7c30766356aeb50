package import PushModel

/// The status of an error packet (`Documentation/Protocols.md`, "The error packet"). The set is open: other values are
/// treated as `unknown`.
package struct LegacyStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let noError = LegacyStatus(rawValue: 0)
    package static let processingError = LegacyStatus(rawValue: 1)
    package static let missingToken = LegacyStatus(rawValue: 2)
    package static let missingTopic = LegacyStatus(rawValue: 3)
    package static let missingPayload = LegacyStatus(rawValue: 4)
    package static let invalidTokenSize = LegacyStatus(rawValue: 5)
    package static let invalidTopicSize = LegacyStatus(rawValue: 6)
    package static let invalidPayloadSize = LegacyStatus(rawValue: 7)
    package static let invalidToken = LegacyStatus(rawValue: 8)
    /// A shutdown is not a failure: its identifier is the last that was accepted.
    package static let shutdown = LegacyStatus(rawValue: 10)
    package static let protocolError = LegacyStatus(rawValue: 128)
    package static let unknown = LegacyStatus(rawValue: 255)

    /// Returns the end of the delivery that the packet names.
    ///
    /// Only status 8 is Apple's answer for a bad token. Status 5 means that the token is malformed, which must not
    /// deactivate a device. A status that does not concern the notification (128, 255 and unknown ones) lets it be sent
    /// once more and then dropped, since it could end one connection after the other.
    package func result(attempt: UInt16) -> AttemptResult {
        switch self {
        case .processingError: refusal(500, reason: "InternalServerError")
        case .missingToken: refusal(400, reason: "MissingDeviceToken")
        case .missingTopic: refusal(400, reason: "MissingTopic")
        case .missingPayload: refusal(400, reason: "PayloadEmpty")
        case .invalidTokenSize: refusal(400, reason: "InvalidTokenSize")
        case .invalidTopicSize: refusal(400, reason: "BadTopic")
        case .invalidPayloadSize: refusal(413, reason: "PayloadTooLarge")
        case .invalidToken: refusal(400, reason: "BadDeviceToken")
        default:
            attempt <= 1
                ? .notProcessed : refusal(400, reason: self == .protocolError ? "ProtocolError" : "UnknownError")
        }
    }

    private func refusal(_ status: Int, reason: String) -> AttemptResult {
        .refused(Refusal(status: status, reason: ProviderReason(rawValue: reason)))
    }

    package var description: String {
        switch self {
        case .noError: "no error (0)"
        case .processingError: "processing error (1)"
        case .missingToken: "missing token (2)"
        case .missingTopic: "missing topic (3)"
        case .missingPayload: "missing payload (4)"
        case .invalidTokenSize: "invalid token size (5)"
        case .invalidTopicSize: "invalid topic size (6)"
        case .invalidPayloadSize: "invalid payload size (7)"
        case .invalidToken: "invalid token (8)"
        case .shutdown: "shutdown (10)"
        case .protocolError: "protocol error (128)"
        case .unknown: "unknown error (255)"
        default: "status \(rawValue)"
        }
    }
}
