import FoundationEssentials
import PushConfiguration
import PushModel
import PushText

/// The options that select the app of a verb: an app of the configuration, or one described by flags.
enum AppOptions {
    static let options: [Option] =
        [
            Option("app", value: "APP", about: "an app of the configuration; may be left out if there is only one"),
            Option("config", value: "FILE", about: "the configuration (carillon.json5 here or in /etc/carillon)"),
        ] + APNsOptions.describing

    struct Chosen: Sendable {
        let app: Configuration.App
        /// The warnings about the configuration.
        let warnings: [String]
    }

    /// The id of an app that is described by flags.
    static let flagsName = AppID("flags")!

    static func choose(_ arguments: Arguments) throws(Failure) -> Chosen {
        let given = APNsOptions.describing.map(\.name).filter { arguments.has($0) }
        guard let first = given.first else { return try configured(arguments) }
        for option in ["app", "config"] where arguments.has(option) {
            throw Failure(
                .usage, "'--\(option)' cannot be combined with '--\(first)': use the configuration or the flags"
            )
        }
        return Chosen(app: try APNsOptions.app(arguments), warnings: [])
    }

    private static func configured(_ arguments: Arguments) throws(Failure) -> Chosen {
        let name = arguments.text("app")
        let isWithoutFile =
            arguments.text("config") == nil
            && ConfigurationFile.locate(flag: nil, environment: ProcessInfo.processInfo.environment) == nil
        let advice = "or describe the app with --topic, --environment, and --key or --certificate"
        let (file, parsed) = try Failure.converting(advice: name == nil && isWithoutFile ? advice : nil) {
            () throws(StartError) in try Configuration.load(file: arguments.text("config"))
        }
        let app = try find(name, in: parsed.configuration.apps, of: file)
        return Chosen(app: app, warnings: parsed.warnings.map(\.description))
    }

    /// Returns the app with that name; without a name, the only app.
    static func find(
        _ name: String?, in apps: [Configuration.App], of file: String
    ) throws(Failure) -> Configuration.App {
        let names = apps.map(\.id.name)
        guard let name else {
            if apps.count == 1 { return apps[0] }
            throw Failure(.usage, "no app: give --app with one of \(names.joined(separator: ", "))")
        }
        if let app = apps.first(where: { $0.id.name == name }) { return app }
        let nearest = NearestWord.to(name, in: names)
        throw Failure(
            .badInput,
            "unknown app \"\(PlainText.line(name, limit: 64))\" in \(file)"
                + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; the apps are \(names.joined(separator: ", "))"))
    }
}

extension Duration {
    /// The default of `--timeout` for verbs that connect to a push service.
    static let usualTimeout: Duration = .seconds(20)

    static func timeout(_ arguments: Arguments) throws(Failure) -> Duration {
        guard let text = arguments.text("timeout") else { return usualTimeout }
        guard let time = DurationText.read(text), (.milliseconds(100) ... .seconds(600)).contains(time) else {
            throw Failure(
                .usage,
                "'--timeout' must be a time from 100ms to 10m, such as 20s, not '\(PlainText.line(text, limit: 20))'")
        }
        return time
    }
}
