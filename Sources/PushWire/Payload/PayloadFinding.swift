/// One thing that is wrong with a notification, where it stands, and what to do about it.
package struct PayloadFinding: Sendable, Equatable, CustomStringConvertible {
    package enum Severity: String, CaseIterable, Sendable {
        /// The provider answers with an error.
        case refused
        /// The provider or the device passes over it: it has no effect, or the notification has none.
        case ignored
        /// It may work, on some devices or for now.
        case risky
    }

    package enum Code: String, CaseIterable, Sendable {
        // The payload as a whole.
        case empty, tooLarge, notJSON, notObject, repeatedKey, noAps, apsNotObject
        // Keys and their values.
        case unknownKey, misspeltKey, customInsideAps, keyOutsideAps, legacyKey, wrongType, outOfRange, unknownWord
        case argumentsWithoutKey, criticalWithoutSound
        // What the push type asks for.
        case nothingToShow, onlyForBackground, visibleInBackground, notContentAvailable, mutableWithoutAlert
        case contentNotChanged, keyOfAnotherType, missingKey, apsBesideMDM
        // Live Activities.
        case keyOfAnotherEvent, broadcastStart, twoInputs, soundOutsideAlert, staleTooEarly, milliseconds
        // What goes into headers.
        case badPriority, priorityOfAnotherType, badCollapseID, wrongTopic, badExpiration, expirationTooLate
        case expirationPast, expirationStored
    }

    package let severity: Severity
    package let code: Code
    /// `aps.alert.title`, or the name of the option; empty for the payload as a whole.
    package let path: String
    package let problem: String
    package let advice: String
    /// The byte of the payload at which it shows.
    package let offset: Int?

    package var description: String {
        "\(severity.rawValue): \(path.isEmpty ? "" : "\(path): ")\(problem); \(advice)"
    }
}

/// Gathers findings, or only whether one of them has the notification refused.
struct PayloadFindings {
    private let isQuiet: Bool
    private(set) var all: [PayloadFinding] = []
    private(set) var isRefused = false
    /// Each costs memory, and past so many nobody reads on.
    static let limit = 100

    init(isQuiet: Bool = false) {
        self.isQuiet = isQuiet
    }

    mutating func add(
        _ severity: PayloadFinding.Severity, _ code: PayloadFinding.Code, _ path: @autoclosure () -> String,
        _ problem: @autoclosure () -> String, _ advice: @autoclosure () -> String, at offset: Int? = nil
    ) {
        if severity == .refused { isRefused = true }
        guard !isQuiet, all.count < Self.limit else { return }
        all.append(
            PayloadFinding(
                severity: severity, code: code, path: path(), problem: problem(), advice: advice(), offset: offset))
    }
}
