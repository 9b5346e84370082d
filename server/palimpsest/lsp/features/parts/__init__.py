"""The state that one connection keeps for each feature. These modules are loaded before `initialize` is answered, so
none imports a service, or a module that does, at its top: functions that are called later do."""
