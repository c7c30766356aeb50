import PushWire

/// One thing that is wrong with an installation, or that an operator should know.
struct Finding: Sendable, Equatable {
    enum Severity: String, Sendable, CaseIterable {
        /// Messages are not accepted or not sent, or soon will not be.
        case fault
        /// Something will become a fault, or hides one.
        case warning
        case note
    }

    /// The kind of a finding, from a closed set, in order of weight: what prevents a start comes before what prevents
    /// sending, and that before what may go wrong later.
    enum Code: String, Sendable, CaseIterable {
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
        case brake
        case breaker
        case clock
        case descriptors
        case memory
        case configurationWarning = "configuration_warning"
        case secretPermissions = "secret_permissions"
        case credentialExpires = "credential_expires"
        case restartNeeded = "restart_needed"
        case otherVersion = "other_version"
        case deafSubscribers = "deaf_subscribers"
        case paused
        case backup
        case notRunning = "not_running"
    }

    let severity: Severity
    let code: Code
    /// What is wrong, without a period at the end.
    let what: String
    /// The app, file or address that it concerns; nil if it is the whole installation.
    var place: String?
    /// What to do; nil if the text of the fault says it already.
    var advice: String?

    init(_ severity: Severity, _ code: Code, _ what: String, at place: String? = nil, advice: String? = nil) {
        (self.severity, self.code, self.what, self.place, self.advice) = (severity, code, what, place, advice)
    }

    /// The app that it concerns; the place has the address of its push service behind it, if it is known.
    var app: String? { place.map { String($0.prefix { $0 != " " }) } }

    var value: JSONValue {
        let members: [String: JSONValue?] = [
            "severity": .string(severity.rawValue), "code": .string(code.rawValue), "what": .string(what),
            "where": .text(place), "advice": .text(advice),
        ]
        return .object(members.compactMapValues { $0 })
    }
}

extension [Finding] {
    /// The findings in order of weight; those of one kind stay in their order.
    var byWeight: [Finding] {
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
