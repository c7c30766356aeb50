import Glibc
package import Testing

/// What kind of run this is. `Tools/test` sets the variables.
package enum RunKind {
    /// Whether random walks have their full length, kills are repeated, and scenes that take minutes are played:
    /// `Tools/test --long`. In each other run, every walk has a part of its length.
    package static let isLong = getenv("CARILLON_LONG") != nil

    /// Whether only the targets were built that a sanitizer is for, without the programs (see Package.swift).
    package static let isMemoryOnly = getenv("CARILLON_PART").map { String(cString: $0) } == "memory"

    /// Returns how often something is repeated.
    package static func rounds<Count: BinaryInteger>(_ usual: Count, long: Count) -> Count {
        isLong ? long : rounds(usual)
    }

    /// Returns how often something is repeated that takes no longer with `--long`: a third in the sanitized run of each
    /// change. Such a run is several times slower, and what it looks for does not depend on values as much as on paths.
    package static func rounds<Count: BinaryInteger>(_ usual: Count) -> Count {
        isMemoryOnly ? max(1, usual / 3) : usual
    }
}

extension Trait where Self == ConditionTrait {
    /// For a test that belongs to `Tools/test --long`.
    package static var long: Self { .enabled(if: RunKind.isLong, "part of Tools/test --long") }

    /// For a test that starts a program of this package.
    package static var startsProgram: Self {
        .disabled(if: RunKind.isMemoryOnly, "starts a program, which a sanitized run does not build")
    }
}
