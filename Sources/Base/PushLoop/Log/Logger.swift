/// A logger for one subsystem. Copies are cheap. The message and the fields are not evaluated if the level is disabled.
package struct Logger: Sendable {
    package let output: LogOutput
    package let subsystem: String
    private let context: LogFields

    package init(_ subsystem: String, to output: LogOutput) {
        self.init(subsystem: subsystem, output: output, context: [:])
    }

    private init(subsystem: String, output: LogOutput, context: LogFields) {
        self.subsystem = subsystem
        self.output = output
        self.context = context
    }

    /// Returns a logger that adds the given fields to each of its lines.
    package func with(_ fields: LogFields) -> Logger {
        var all = context
        all.append(contentsOf: fields)
        return Logger(subsystem: subsystem, output: output, context: all)
    }

    package func log(
        _ level: LogLevel, _ message: @autoclosure () -> LogMessage, _ fields: @autoclosure () -> LogFields = [:],
        file: String = #fileID, line: UInt = #line
    ) {
        guard output.isEnabled(level) else { return }
        var all = context
        all.append(contentsOf: fields())
        output.write(
            level: level, subsystem: subsystem, message: message().text, fields: all,
            site: LogSite(file: file, line: line))
    }

    package func info(
        _ message: @autoclosure () -> LogMessage, _ fields: @autoclosure () -> LogFields = [:],
        file: String = #fileID, line: UInt = #line
    ) {
        log(.info, message(), fields(), file: file, line: line)
    }

    package func notice(
        _ message: @autoclosure () -> LogMessage, _ fields: @autoclosure () -> LogFields = [:],
        file: String = #fileID, line: UInt = #line
    ) {
        log(.notice, message(), fields(), file: file, line: line)
    }

    package func warning(
        _ message: @autoclosure () -> LogMessage, _ fields: @autoclosure () -> LogFields = [:],
        file: String = #fileID, line: UInt = #line
    ) {
        log(.warning, message(), fields(), file: file, line: line)
    }

    package func error(
        _ message: @autoclosure () -> LogMessage, _ fields: @autoclosure () -> LogFields = [:],
        file: String = #fileID, line: UInt = #line
    ) {
        log(.error, message(), fields(), file: file, line: line)
    }
}
