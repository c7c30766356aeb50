package import PushModel

/// `POST /v1/apps/{app}/brake/release`: devices are deactivated again, although the push service rejected many tokens.
package struct ReleaseBrake: Endpoint {
    package typealias Input = AppPath

    package struct Answer: JSONAnswer, Equatable {
        package var app: String
        /// False if the brake was off.
        package var released: Bool
    }

    package static let operation = Operation(
        .post, at: "/v1/apps/{app}/brake/release", id: "releaseBrake", access: .role(.operate), subject: "Gateways",
        summary: "Releases the brake that stops the deactivation of devices after too many bad tokens.",
        problems: [.unknownApp],
        records: [.operatorBrakeRelease])

    private let apps: AppCatalog
    private let release: @Sendable (AppID) async throws -> Bool

    /// - Parameter release: releases the brake of an app and returns whether it was on.
    package init(apps: AppCatalog, release: @escaping @Sendable (AppID) async throws -> Bool) {
        self.apps = apps
        self.release = release
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<Answer> {
        try caller.check(input.app)
        try apps.check(input.app)
        let wasOn = try await release(input.app)
        return Reply(
            Answer(app: input.app.name, released: wasOn),
            change: OperatorChange(
                .operatorBrakeRelease, app: input.app, of: "brake", before: wasOn ? "on" : "off", after: "off"))
    }
}
