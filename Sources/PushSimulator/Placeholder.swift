package enum PushSimulatorVersion { package static let number = "0.1" }
