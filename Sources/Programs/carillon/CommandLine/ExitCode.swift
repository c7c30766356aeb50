import PushConfiguration

/// The exit status of the process, for scripts. The values from 64 are those of `sysexits.h`.
enum ExitCode: Int32 {
    case done = 0
    case failed = 1
    case usage = 64
    case badInput = 65
    case unavailable = 69
    case tryAgain = 75
    case notPermitted = 77
    case configuration = 78
}

extension ExitCode {
    init(_ code: StartError.Code) {
        self =
            switch code {
            case .configuration: .configuration
            case .notPermitted: .notPermitted
            case .unavailable: .unavailable
            case .tryAgain: .tryAgain
            case .badInput: .badInput
            case .failed: .failed
            }
    }

    /// Returns the most severe code, or nil if there is none. Faults that a person has to correct are more severe than
    /// faults that may be temporary.
    static func gravest(_ codes: [ExitCode]) -> ExitCode? {
        let codes = Set(codes)
        return [.configuration, .notPermitted, .unavailable, .tryAgain].first { codes.contains($0) }
            ?? codes.first { $0 != .done }
    }
}
