import DeviceRegistrar
import Foundation
import TestSupport
import TestTraits
import Testing

// The examples of Documentation/Registrar.md. `GuideTextTests` compares the page with them.

@Suite(.waits) struct RegistrarGuideTests {
    private enum SetupError: Error { case notASecret }

    @Test func `The examples of the page work`() async throws {
        let scene = try await RegistrarScene()
        let (server, keyID, text) = (scene.server, scene.keyID, scene.secretText)
        let folder = URL(fileURLWithPath: scene.directory.path)
        let deviceToken = Data(repeating: 7, count: 32)

        guard let secret = KeySecret(text) else { throw SetupError.notASecret }
        let file = folder.appendingPathComponent("registrar.json")
        let configuration = RegistrarConfiguration(
            server: server, app: "shop", keyID: keyID, secret: secret, file: file)
        let registrar = try DeviceRegistrar(configuration)

        if let token = PushToken(deviceToken) {
            let profile = DeviceProfile(
                user: "ada", tags: ["vip"], locale: "de_AT", appVersion: "1.2")
            await registrar.register(token, profile: profile)
        }

        for await status in await registrar.statuses() {
            print(status)
            if case .registered(let device) = status {
                print("the id of this device is \(device)")
                break
            }
        }

        await registrar.displayed("8be8baca-4367-5f55-9acc-b3ec5a25533e")
        await registrar.opened("8be8baca-4367-5f55-9acc-b3ec5a25533e")
        await registrar.settle()
        #expect(await registrar.waitingReports == 0)

        await registrar.remove()
        await registrar.settle()
        #expect(await registrar.status == .unregistered)
    }
}
