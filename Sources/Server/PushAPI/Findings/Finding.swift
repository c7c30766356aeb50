/// One thing that is wrong with an installation, or that an operator should know.
package struct Finding: Codable, Sendable, Equatable {
    package enum Severity: String, Codable, Sendable, SchemaChoice {
        /// Messages are not accepted or not sent, or soon will not be.
        case fault
        /// Something will become a fault, or hides one.
        case warning
        case note
    }

    /// The kind of a finding, from a closed set, in order of weight: what prevents a start comes before what prevents
    /// sending, and that before what may go wrong later.
    package enum Code: String, Codable, Sendable, SchemaChoice {
        case configuration
        case notPermitted = "not_permitted"
        case dataDirectory = "data_directory"
        case storeDamaged = "store_damaged"
        case storeVersion = "store_version"
        case diskReadOnly = "disk_read_only"
        case diskFull = "disk_full"
        case inodesUsedUp = "inodes_used_up"
        case start
        case notAnswering = "not_answering"
        case notReady = "not_ready"
        case credential
        case credentialRefused = "credential_refused"
        case database
        case unreachable
        case crashed
        case eventsLost = "events_lost"
        case backlog
        case slowAnswers = "slow_answers"
        case intakeFull = "intake_full"
        case deferrals
        case rejections
        case unknownOutcomes = "unknown_outcomes"
        case paused
        case brake
        case breaker
        case webhook
        case clock
        case descriptors
        case memory
        case configurationWarning = "configuration_warning"
        case secretPermissions = "secret_permissions"
        case credentialExpires = "credential_expires"
        case restartNeeded = "restart_needed"
        case timeZones = "time_zones"
        case otherVersion = "other_version"
        case deafSubscribers = "deaf_subscribers"
        case backup
        case notRunning = "not_running"
    }

    package let severity: Severity
    package let code: Code
    /// What is wrong, without a period at the end.
    package let what: String
    /// The app that it concerns; nil if it is another part, or the whole installation.
    package let app: String?
    /// The app, file or address that it concerns; nil if it is the whole installation.
    package let place: String?
    /// What to do; nil if the text of the fault says it already.
    package let advice: String?

    /// - Parameter place: That of a finding about an app is its name, unless another one is given.
    package init(
        _ severity: Severity, _ code: Code, _ what: String, of app: String? = nil, at place: String? = nil,
        advice: String? = nil
    ) {
        (self.severity, self.code, self.what, self.advice) = (severity, code, what, advice)
        (self.app, self.place) = (app, place ?? app)
    }

    package enum CodingKeys: String, CodingKey {
        case severity, code, what, app, advice
        case place = "where"
    }
}

/// What is wrong with a running Carillon, the gravest first.
package struct FindingList: JSONAnswer, Equatable {
    package let findings: [Finding]

    package init(_ findings: [Finding]) {
        self.findings = findings
    }

    package static var about: [String: String] {
        [
            "findings": "What is wrong, the gravest first.",
            "severity":
                "A fault keeps messages from being accepted or sent; a warning becomes one or hides one; a note is for "
                + "information.",
            "code": "The kind of the finding, from a closed set.",
            "what": "What is wrong.",
            "app": "The app that it concerns; left out if it is another part, or the whole installation.",
            "where": "The app, file or address that it concerns.",
            "advice": "What to do.",
        ]
    }
}

extension [Finding] {
    /// The findings in order of weight; those of one kind stay in their order.
    package var byWeight: [Finding] {
        let severities = Finding.Severity.allCases
        let codes = Finding.Code.allCases
        return enumerated().sorted { first, second in
            func rank(_ item: (offset: Int, element: Finding)) -> (Int, Int, Int) {
                (
                    severities.firstIndex(of: item.element.severity) ?? 0,
                    codes.firstIndex(of: item.element.code) ?? 0, item.offset
                )
            }
            return rank(first) < rank(second)
        }.map(\.element)
    }
}
