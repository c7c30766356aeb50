import PushLoop

/// The version of Carillon.
package enum Release {
    package static let version = "0.1.0"

    /// The version of the Swift compiler.
    static var swiftVersion: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }

    static var architecture: String {
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
