private import CRelease
import PushLoop

/// The version of Carillon.
package enum Release {
    /// The version. It stands only here: the verbs, the API, the packages and the documentation read it from the program.
    package static let version = "0.1.0"

    /// The commit of the sources, if `Tools/package` built the program; otherwise "unknown".
    package static var commit: String { CRelease_commit().map { String(cString: $0) } ?? "unknown" }

    /// The version of the Swift compiler.
    package static var swiftVersion: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }

    package static var architecture: String {
        #if arch(x86_64)
        "x86_64"
        #elseif arch(arm64)
        "aarch64"
        #else
        "other"
        #endif
    }

    /// Registers the metric that names the version. Its value is always 1, so that it can be joined to other metrics.
    static func register(in registry: MetricsRegistry) {
        registry.computedGauge(
            "carillon_build_info", help: "Always 1; the labels name the version of Carillon and how it was built.",
            labels: ["version": version, "swift": swiftVersion, "arch": architecture]
        ) { 1 }
    }
}
